"""Texts as vectors, and the index that finds the vectors nearest to a question.

The memory calls `embedder.Embedder` with a text and `vector_index.VectorIndex` with its vector.
`packed_vectors` is how items store a vector.
"""
