"""The guard between one client and one server, over the raw bytes of their messages.

A proxy passes each message to `guard.Guard` and sends what comes back. `judge` decides about
one call, and `fast_path` handles the common case.
"""
