"""The same decisions at Nacre's own endpoint.

`guarded_surface` wraps the surface that the protocol calls. Allowed calls go on to the Being or
to mounted servers.
"""
