"""The MCP wire: strict messages, versions, dispatch and HTTP rules."""
