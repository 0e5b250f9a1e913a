"""Other MCP servers, through the official client.

The gateway calls `upstream` through its port. `client_session` holds one open connection, and
`transports` starts a program or connects to a URL.
"""
