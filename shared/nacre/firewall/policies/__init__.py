"""Sources of policies: files, versions in the item store, and packs.

`loader` reads a file strictly. Calls come in through `laptop_policy` and `stored_policy`, which
return the policy in force.
"""
