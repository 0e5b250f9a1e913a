"""Whether two texts say the same: `same.py` decides, the other modules are its rules.

Texts are the same when they are equal after normalisation, or when rules that keep the order of
words and who does what to whom turn one into the other. What no rule proves is not the same.
"""
