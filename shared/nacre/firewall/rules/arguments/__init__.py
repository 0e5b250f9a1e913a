"""The arguments of a call, in every way that a server could read them.

`readings` lists all readings of a path, a URL or a word, and conditions are tested against
them.
"""
