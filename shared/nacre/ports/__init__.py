"""The interfaces that features need from the outside, one protocol in each file.

Features call a port. `adapters` implements it, and `wiring` chooses the implementation. Here are
the stores, the queue and the language models. The folders hold the ports of a common topic.
"""
