"""Rules and the decision: the first rule that matches a call, else deny.

Calls come in through `policy.Policy.decide`, and `evaluate` decides. Everything here is pure
computation.
"""
