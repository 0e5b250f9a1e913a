"""Small values that every part uses: errors, limits, ids, time, names and logs.

Nothing here imports another part of the package. Each promised number is in `limits`, with its
reason.
"""
