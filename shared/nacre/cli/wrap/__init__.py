"""The commands that change the files of clients: `connect`, `disconnect`, `wrap` and `unwrap`.

Each command asks `firewall.wrap` for the changes, shows them, and applies them.
"""
