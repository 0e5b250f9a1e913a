"""The patrol: the background job that turns scenes into lasting memories.

`trigger` asks for a run on behalf of a client, and `jobs` starts it in the worker. `patrol`
performs the steps in order, and the run writes through `run.ledger`.
"""
