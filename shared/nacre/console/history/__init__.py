"""The page of past conversations, with a search."""
