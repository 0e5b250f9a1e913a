"""The pages of other MCP servers and of their tools."""
