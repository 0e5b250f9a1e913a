"""The minds of the memory's tests, for clients that talk to them."""

from tests.memory.conftest import clock, mind, stack

__all__ = ["clock", "mind", "stack"]
