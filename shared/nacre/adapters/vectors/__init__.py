"""Vector search in memory: exact nearest vectors, and BM25 over terms.

The SQLite index and the index over DynamoDB items both use it.
"""
