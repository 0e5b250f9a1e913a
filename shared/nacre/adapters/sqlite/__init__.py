"""The laptop's store: items, queue and search index in one SQLite file.

`wiring.laptop` opens `database`; the other modules work on it.
"""
