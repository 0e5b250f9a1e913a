"""Hooks of clients: their files and formats, and the changes that put Nacre's hooks there.

Callers use `connector.HookConnector`. `formats` lists the clients and their files. The other files
are programs that clients load. When a hook runs, it calls `cli.hooks`.
"""
