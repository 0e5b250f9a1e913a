"""Both item stores, for leases."""

from tests.scaffolding.two_stores import clock, stack, table

__all__ = ["clock", "stack", "table"]
