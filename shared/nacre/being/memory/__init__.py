"""The memory of a Being: stored items, search index, and everything that reads or writes them.

Tools and pages call `services`, which brings the repositories and the searches together. Both
leave through the ports for items, vectors and embeddings.
"""
