"""The Being's own MCP tools, one file each, named as the tool."""
