"""One run of the patrol: its input, its writes and its outcome.

`claim` freezes the input of a run, the steps share the `context`, and every write goes through
`ledger`.
"""
