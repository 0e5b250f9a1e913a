"""The commands about policy: `policy`, `approvals`, `approve` and `audit`.

`approvals` decides waiting calls. `approve`, in `changed_tools`, trusts a server's changed tools.
"""
