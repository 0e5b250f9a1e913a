"""What the suites of the ports share: a clock that stands still and a fake AWS."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.aws_stack import Stack, aws_stack


class StillClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.time = datetime(2026, 7, 28, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    def at(self, seconds: float) -> int:
        """Return a moment from now, in epoch seconds."""
        return int(self.time.timestamp() + seconds)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with aws_stack() as stack:
        yield stack
