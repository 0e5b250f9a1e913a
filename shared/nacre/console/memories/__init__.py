"""The pages of memories: the list, one memory, and merging or forgetting them."""
