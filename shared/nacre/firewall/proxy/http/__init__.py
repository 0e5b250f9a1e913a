"""A proxy in front of a remote server.

Clients connect over HTTP (`http_server`, then `http_proxy`) or over standard input and output
(`stdio_bridge`). Calls leave through `firewall.proxy.upstream`.
"""
