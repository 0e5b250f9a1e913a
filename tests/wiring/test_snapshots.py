"""The modules that snapshots of functions hold."""

from importlib.util import find_spec

import pytest

from nacre.wiring.snapshots import MCP, PORTAL


@pytest.mark.parametrize("name", sorted({*MCP, *PORTAL}))
def test_every_module_of_a_snapshot_exists(name: str) -> None:
    assert find_spec(name) is not None
