"""The decision whether two texts say the same: `same_note` decides, the others are its rules.

Two texts say the same when they are equal after normalization, or when a rule rewrites one into
the other. A rule applies only to a sentence in which `clause_grammar` knows every word, from closed
lists. Everything else is not the same.
"""
