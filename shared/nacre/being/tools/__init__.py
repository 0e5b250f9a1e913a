"""The Being's MCP tools, one file for each, named like the tool.

The protocol calls a tool's function with checked arguments. The tool calls `memory` or `patrol`
and formats the result.
"""
