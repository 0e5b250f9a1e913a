"""What the fault suite shares."""

import pytest

from tests.adapters.conftest import StillClock
from tests.cli.conftest import folder, nacre

__all__ = ["folder", "nacre"]  # fixtures


@pytest.fixture
def clock() -> StillClock:
    return StillClock()
