"""The minds of the memory's tests, for clients that talk to them."""

from tests.being.memory.conftest import clock, mind, stack

__all__ = ["clock", "mind", "stack"]
