"""Requests to other servers, and what a server asks of the client meanwhile.

`mounts` calls `external_server`. `circuit_breaker` pauses after failures, and `parked_calls`
waits for answers of the client.
"""
