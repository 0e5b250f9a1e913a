"""Patrols of random histories end the same, wherever and however often they are stopped."""

import pytest

from nacre.being.patrol.steps import split_clusters
from nacre.ports.vectors.embedder import Embedder
from tests.being.memory.keeping import divide_early
from tests.being.memory.minds import builtin
from tests.being.patrol.crashing import crash_through, crashes_asked_for

CRASHES = 100  # the slow test below has as many as are asked for


@pytest.fixture(autouse=True)
def small_clusters_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let splits happen in small histories too."""
    monkeypatch.setattr(split_clusters, "SPLIT_FROM", 6)


@pytest.fixture(autouse=True)
def nodes_have_further_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scenes move out of the items of nodes in small histories too."""
    divide_early(monkeypatch)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return builtin()[0]


@pytest.mark.slow
def test_a_hundred_crashes_change_nothing(embedder: Embedder) -> None:
    tally = crash_through(CRASHES, embedder)
    print(tally)
    assert tally.crashes >= CRASHES


@pytest.mark.slow
def test_as_many_crashes_as_are_asked_for_change_nothing(embedder: Embedder) -> None:
    count = crashes_asked_for()
    tally = crash_through(count, embedder)
    print(tally)
    assert tally.crashes >= count
