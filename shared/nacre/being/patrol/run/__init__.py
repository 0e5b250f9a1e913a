"""One run of the patrol: what it was given, what it may write, and what came of it.

`claim` freezes the input of a run, `round` carries what the steps share, and every write goes
through `ledger`.
"""
