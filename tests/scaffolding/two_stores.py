"""The item store of a laptop and that of a stack, for suites outside of the adapters."""

from tests.adapters.conftest import clock, stack, table

__all__ = ["clock", "stack", "table"]
