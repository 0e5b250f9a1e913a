"""The pages of patrols: what waits, what each run did, and how to undo one."""
