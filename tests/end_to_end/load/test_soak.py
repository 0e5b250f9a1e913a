"""The short form of `make load`: a server of its own under mixed traffic, and one that leaks."""

from pathlib import Path

import pytest

from tests.end_to_end.load import traffic
from tests.end_to_end.load.laptop import COUNTED
from tests.end_to_end.load.soaking import count_operations, soak

pytestmark = pytest.mark.slow


def test_a_server_under_load_stays_flat_and_loses_nothing(tmp_path: Path) -> None:
    found = soak(tmp_path, seconds=300, most=400, clients=3)

    assert found.problems == []
    assert found.run.timings.seconds.keys() == traffic.KINDS.keys()


def test_a_server_that_keeps_something_of_each_call_is_found_out(tmp_path: Path) -> None:
    leaking = {"NACRE_LOAD_LEAK": "100000"}  # some eight times a call
    found = soak(
        tmp_path, seconds=300, most=200, warm=50, clients=2, program=COUNTED, variables=leaking
    )

    assert not found.growth.is_flat
    assert [each.partition(":")[0] for each in found.problems] == ["memory is not flat"]


def test_each_kind_of_call_asks_the_item_store_for_little(tmp_path: Path) -> None:
    found = count_operations(tmp_path, each=5)
    asked = {kind: sum(counts.values()) for kind, counts in found.operations.items()}

    assert found.run.timings.errors == {}
    assert asked[traffic.POLICY] == 1  # who asks
    # The log of recalls is written by each, and its announcement is read once for each batch.
    assert 4 <= asked["recall"] <= asked["search_memory"] <= 5
    assert asked["update_notes"] <= 10
    assert (
        asked[traffic.ORDER_TOOL] <= 49
    )  # two for the announcement of recalls, two for what came in
