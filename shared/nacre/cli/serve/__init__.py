"""The commands that run a server: `serve` and `mcp-server`."""
