"""The commands that run a server: `serve` and `mcp-server`.

`serve` opens the laptop and starts `faces.http`. `stdio_command` starts `faces.stdio`.
"""
