"""Where a policy comes from: a file, a version in the item store, or a pack.

`loader` reads files strictly. `laptop_policy` and `stored_policy` answer which policy is in
force now.
"""
