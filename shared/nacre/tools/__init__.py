"""Tools, resources and prompts, and the servers that hold them."""
