"""Other MCP servers behind the same URL.

`joined_surface` adds their tools to the Being's own. A call goes through `mounts` to `calls`,
and leaves through the upstream port.
"""
