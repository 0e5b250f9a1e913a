"""The page of the language model: its key, and what it has spent."""
