"""The search index: kept in step with the items, marked where it is not, and repaired.

Writers call `sync`. `maintenance` and `jobs` repair or rebuild the index later. Points leave
through the vector port.
"""
