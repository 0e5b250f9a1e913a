"""Implementations of the ports, one folder for each technology.

Only `wiring` imports them. `rules`, `items` and `vectors` hold what several of them share.
"""
