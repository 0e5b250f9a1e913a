"""Other MCP servers, through the official client.

The gateway calls `upstream` through its port. `upstream_session` holds one open session, and
`transports` starts a program (`stdio_transport`) or connects to a URL (`http_transport`).
"""
