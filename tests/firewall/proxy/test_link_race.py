"""A link that changes between the decision and the server's use of it: counted, not stopped."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.firewall.proxy.link_race import counted
from tests.firewall.proxy.test_relative_paths import Home
from tests.scaffolding.third_party import SERVERS as THIRD_PARTY


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path.resolve()).make()
    monkeypatch.setenv("HOME", str(made.user))
    return made


def test_a_link_that_stays_gives_nothing_away(home: Home) -> None:
    assert counted(home, "confines nothing", 50, swaps=False) == Counter(refused=50)


@pytest.mark.slow
def test_a_server_that_confines_itself_gives_nothing_away(home: Home) -> None:
    THIRD_PARTY["filesystem"].command(home.folder)  # skips where it is not installed
    assert counted(home, "server-filesystem", 1000, swaps=True)["leaked"] == 0


@pytest.mark.slow
def test_a_swapped_link_is_counted_before_a_server_that_confines_nothing(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is promised about how many there are; that some are refused shows the race."""
    calls = int(os.environ.get("NACRE_RACES", "1000"))
    found = counted(home, "confines nothing", calls, swaps=True)
    with capsys.disabled():
        print(f"\n{found['leaked']} of {calls} calls read the file outside")
    assert found.total() == calls
    assert found["refused"]
