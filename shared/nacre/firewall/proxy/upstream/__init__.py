"""The remote server of a proxy, over HTTP.

Proxies send requests through `remote_server`. `streamable_http` and `legacy_sse` are the two
transports of MCP; `message_ids` reads which request a message belongs to.
"""
