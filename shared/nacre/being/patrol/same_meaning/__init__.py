"""Whether two texts say the same: `same_note` decides, the other modules are its rules.

Texts are the same when they are equal after normalization, or when rules that keep word order
and roles turn one into the other. What no rule proves is not the same.
"""
