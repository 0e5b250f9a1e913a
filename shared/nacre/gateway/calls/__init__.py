"""Requests to other servers, and the questions that a server asks the client during a request.

`mounts` calls `external_server`, which sends requests through `relayed_request`.
An `ExternalServer` pauses after failures. `ParkedCalls` holds calls that wait for the client.
"""
