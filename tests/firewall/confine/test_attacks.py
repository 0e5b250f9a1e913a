"""A malicious server tries everything that its rights do not include: nothing succeeds."""

import os
from pathlib import Path

import pytest

from tests.firewall.confine.confined_world import IS_SUPPORTED, attacked, world_in

pytestmark = [
    pytest.mark.security,
    pytest.mark.skipif(not IS_SUPPORTED, reason="this kernel has no Landlock"),
]
FEWEST = 600


def test_nothing_that_a_malicious_server_tries_succeeds(tmp_path: Path) -> None:
    with world_in(tmp_path) as world:
        leaked = os.open(world.outside / "secret.txt", os.O_RDONLY)
        try:
            result = attacked(world, leaked=leaked)
        finally:
            os.close(leaked)

    assert result["succeeded"] == []
    assert result["changed"] == []
    assert len(set(result["attempts"])) >= FEWEST
    assert len(result["attempts"]) == len(set(result["attempts"]))


def test_without_rights_most_of_the_same_attempts_succeed(tmp_path: Path) -> None:
    """The attempts can succeed at all: those on files, folders and sockets, unconfined."""
    with world_in(tmp_path) as world:
        result = attacked(world, kinds=["file", "inner", "socket"], is_confined=False)

    assert len(result["succeeded"]) > len(result["attempts"]) / 4
