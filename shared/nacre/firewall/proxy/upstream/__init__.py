"""The remote server of a proxy, over HTTP/1.1.

The proxies call `upstream_client`. `streamable_http` and `legacy_sse` are the two transports of
MCP.
"""
