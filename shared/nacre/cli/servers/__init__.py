"""The command `server`: other MCP servers behind the gateway.

`server` changes and checks the stored servers. `login` logs the owner in to one of them.
"""
