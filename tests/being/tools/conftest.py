"""A Being's tools on the laptop's stores, and behind the Lambda face on those of AWS."""

from collections.abc import Iterator

import pytest

from tests.adapters.conftest import StillClock
from tests.being.memory.conftest import a_mind, clock, stack, wordy
from tests.being.memory.minds import Minded

__all__ = ["clock", "stack", "wordy"]


@pytest.fixture(params=["laptop", "lambda"])
def mind(request: pytest.FixtureRequest, clock: StillClock) -> Iterator[Minded]:
    """A mind on SQLite with the local index; one on DynamoDB with Qdrant, called by events."""
    yield from a_mind(request, clock)
