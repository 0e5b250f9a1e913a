"""The Being's MCP tools, each a function with the tool's name.

`registered_tools` adds each tool to the server. The protocol calls a tool's function with checked
arguments. The tool calls `memory` or `patrol` and formats the result.
"""
