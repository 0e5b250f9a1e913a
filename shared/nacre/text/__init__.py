"""Text analysis: search terms, stop words, English stems and the scripts of characters.

Search, the patrol and orders call `analysis`, embeddings call `characters`. Nothing here does
input or output.
"""
