"""Orders: the Being as one tool, with sessions and media."""
