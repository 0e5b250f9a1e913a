"""The vector index in Qdrant.

`vectors` implements the port. It creates its collection with `collection` and sends every request
through `calls`.
"""
