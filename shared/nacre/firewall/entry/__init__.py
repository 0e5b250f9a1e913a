"""The policy at Nacre's own endpoint: every call is decided as a guard would decide it.

`guarded_surface` wraps the surface that the protocol calls. Allowed calls go on to the Being or
to mounted servers.
"""
