"""MCP over standard input and output.

`nacre mcp-server` runs `stdio_server.serve_stdio`, which dispatches one JSON message for each
line.
"""
