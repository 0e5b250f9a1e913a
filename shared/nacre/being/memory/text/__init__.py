"""Memories as text: for readers, for models and for the search index."""
