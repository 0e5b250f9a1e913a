"""From a parsed request to its reply, for every MCP method.

`methods.Dispatcher` receives each request. It reads lists from the surface, runs calls through
`calls`, and returns the reply to the face.
"""
