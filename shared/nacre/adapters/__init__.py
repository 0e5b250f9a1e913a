"""Implementations of the ports, one folder for each technology.

Only `wiring` imports them. Several share `input_checks`, `items` and `vectors`.
"""
