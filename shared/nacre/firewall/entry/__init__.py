"""The policy at Nacre's own endpoint: every call is decided as a guard would decide it.

`guarded_surface` wraps the surface that the protocol calls, and hands each call to `entry_judge`.
Allowed calls go on to the Being or to mounted servers, whose results come back through
`result_checks`. What those servers send unasked comes in at `server_messages`.
"""
