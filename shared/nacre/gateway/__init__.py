"""Other people's MCP servers: in front of them, and behind the same URL."""
