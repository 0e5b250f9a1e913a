"""The cases that are left to the slower suites exist: a renamed one would come back unnoticed."""

from pathlib import Path

import pytest

from tests.conftest import REPEATED
from tests.repetitions import REPETITIONS, Repetition

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("repetition", REPETITIONS, ids=lambda repetition: repetition.place)
def test_each_entry_names_tests_that_exist(
    repetition: Repetition, pytestconfig: pytest.Config
) -> None:
    place = ROOT / repetition.place

    assert place.exists()
    assert all(any(place.rglob(name)) for name in repetition.kept)
    if REPEATED in pytestconfig.stash:
        assert repetition in pytestconfig.stash[REPEATED]
