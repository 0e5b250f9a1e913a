"""What every test shares."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import JSONFileLoader

TESTS = Path(__file__).parent

# The promises that some test carries, known where all tests were collected.
CARRIED = pytest.StashKey[set[str]]()

_read = JSONFileLoader.load_file


@cache
def _read_once(path: str) -> Any:
    return _read(JSONFileLoader(), path)


def _read_by_path(_: JSONFileLoader, file_path: str) -> Any:
    return _read_once(file_path)


def pytest_configure() -> None:
    """Spare each AWS session of each test the parsing of megabytes that never change."""
    JSONFileLoader.load_file = _read_by_path  # type: ignore[method-assign,assignment]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what all tests carry, before those that do not run now are left out."""
    collected = [Path(each).absolute() for each in config.args]
    if collected == [TESTS] and not config.getoption("ignore"):
        marks = (mark for item in items for mark in item.iter_markers("requirement"))
        config.stash[CARRIED] = {mark.args[0] for mark in marks}
