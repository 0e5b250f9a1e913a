"""Whether two texts say the same: `same_note` decides, the other modules are its rules.

Two texts say the same when they are equal after normalization, or when a rule rewrites one into
the other. A rule applies only to a sentence that `clause_grammar` takes apart to the last word,
and that grammar knows a closed list of words. Everything else is not the same.
"""
