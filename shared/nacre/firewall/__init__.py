"""The policy firewall: rules, enforcement, approvals, audit, proxies and wrapped clients.

A call enters through `proxy` when another program is guarded, or through `entry` at Nacre's own
endpoint. `enforce` asks `rules`, records the decision in `audit`, and passes the call on or
refuses it. Nothing here imports memory, patrol, orders or the gateway.
"""
