"""Either store, and a clock that stands still."""

from tests.scaffolding.two_stores import clock, stack, table

__all__ = ["clock", "stack", "table"]
