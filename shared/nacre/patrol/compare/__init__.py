"""Whether two texts say the same: `same.py` decides, the other modules are its rules.

Two texts say the same when they are equal after normalisation, or when a rule rewrites one into
the other. A rule applies only to a sentence that the grammar in `clauses.py` takes apart to the
last word, and that grammar knows a closed list of words. Everything else is not the same.
"""
