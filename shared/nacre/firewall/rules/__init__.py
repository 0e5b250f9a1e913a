"""Rules and the decision: the first rule that matches a call, else deny.

`policy.Policy.decide` is the way in, and `evaluate` decides. Everything here is pure
computation.
"""
