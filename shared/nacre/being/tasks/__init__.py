"""Tasks: calls that a worker runs while the client polls for the result.

Clients create, read and cancel tasks through `client_requests`. `jobs` runs them in the worker,
and `store` keeps their state.
"""
