"""The arguments of a call, in every way that a server could read them.

`readings` lists what a path, a URL or a word may mean. Conditions are tested against all of
these.
"""
