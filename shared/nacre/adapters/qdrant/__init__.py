"""The vector index in Qdrant."""
