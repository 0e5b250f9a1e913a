"""Vector search in memory: exact nearest vectors, and BM25 over terms.

`point_matrix` searches the points of one Being, with `postings` for the terms; SQLite's index uses
it, too. On AWS, `file_vectors` reads the points from a file for each Being, and `item_vectors`
from the items.
"""
