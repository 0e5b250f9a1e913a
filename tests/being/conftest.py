"""The minds of the memory's tests, for the tools that stand on them."""

from tests.memory.conftest import clock, mind, stack, wordy

__all__ = ["clock", "mind", "stack", "wordy"]
