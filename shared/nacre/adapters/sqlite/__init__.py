"""The laptop's store: items, queue and search index in one SQLite file."""
