"""Proxies in front of MCP servers that somebody else wrote.

`stdio` guards a program, `http` guards a remote server. Both pass each message to
`firewall.enforce`, and `server_name` names a server that has no name.
"""
