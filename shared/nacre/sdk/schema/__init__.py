"""From Python types to JSON Schema, and from JSON arguments to Python values.

`signature` reads a function once, when it becomes a tool. `validation` checks the arguments of
each call.
"""
