"""The guard between one client and one server, over the raw bytes of their messages.

A proxy passes each message to `guard.Guard` and sends what comes back. `client_side` and
`server_side` handle the two directions, `judge` decides about one call, and `fast_path` handles the
common case. Very large messages are read in another process (`large_calls`, `large_results`).
Limits on the size of a result are in `firewall.limits`.
"""
