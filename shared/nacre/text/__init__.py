"""Text analysis: search terms, stop words, English stems, scripts of characters, pasted words.

Search, the patrol and orders call `analysis`, embeddings call `characters`, and what stores or
reads people's messages calls `pasted_text`. Nothing here does input or output.
"""
