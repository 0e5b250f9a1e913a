"""Work that waits in the queue, and who may do it."""
