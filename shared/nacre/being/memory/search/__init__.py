"""Finding memories: candidates from the index, ranking, and the views built on them.

Tools call `recall`, `browse` and `opening_context`. `search` asks the index, loads the
candidates, and `ranking` puts them in order.
"""
