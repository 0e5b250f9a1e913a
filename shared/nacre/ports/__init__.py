"""The interfaces that features need from the outside, one protocol in each file.

Features call a port. `adapters` implements it, and `wiring` chooses the implementation.
"""
