"""The command `server`: other MCP servers behind the gateway."""
