"""What the fault suite shares."""

import pytest

from tests.adapters.conftest import StillClock


@pytest.fixture
def clock() -> StillClock:
    return StillClock()
