"""Memories as text: for readers, for models and for the search index.

`memory_text` writes what a recall returns, `searchable_text` and `summary` what the index holds.
Nothing here reads or writes a store.
"""
