"""What patrols take for the same, what they put together, and what a year of them leaves."""

import os
from pathlib import Path

import pytest

from tests.benchmarks import simulated_year
from tests.benchmarks.patrol_quality import (
    CLINC,
    clustered,
    duplicates,
    groupings,
    report_clusters,
    report_duplicates,
)
from tests.benchmarks.recall_quality.datasets import LOCOMO
from tests.benchmarks.variants import OTHER

pytestmark = pytest.mark.benchmark

CONVERSATIONS = Path(os.environ.get("NACRE_BENCH_LOCOMO", LOCOMO))
LABELLED = Path(os.environ.get("NACRE_BENCH_CLINC", CLINC))
PURITY, NMI = 0.78, 0.84
LOST_AT_MOST = 0.02


@pytest.mark.skipif(not CONVERSATIONS.exists(), reason="NACRE_BENCH_LOCOMO names no file")
def test_the_same_is_merged_and_something_else_is_not() -> None:
    found = duplicates(CONVERSATIONS)

    report_duplicates(found)
    # A wrong merge is worse than a hundred missed ones.
    assert {name: share for name in OTHER if (share := found[name][0]) > 0} == {}
    assert found["blanks and stops"][0] >= 0.95
    assert found["words before it"][0] >= 0.95


@pytest.mark.skipif(not LABELLED.exists(), reason="NACRE_BENCH_CLINC names no file")
def test_texts_of_one_label_come_together() -> None:
    found = groupings(LABELLED)
    again = clustered(LABELLED, "builtin")

    report_clusters(found)
    assert again == found["builtin"]
    assert found["builtin"].purity >= PURITY
    assert found["builtin"].nmi >= NMI
    assert found["builtin, with splits"].purity > found["builtin"].purity


@pytest.mark.skipif(not CONVERSATIONS.exists(), reason="NACRE_BENCH_LOCOMO names no file")
def test_a_year_of_forgetting_costs_the_survivors_little(tmp_path: Path) -> None:
    story = simulated_year.told(CONVERSATIONS)
    year = simulated_year.live(story, simulated_year.DAYS, tmp_path)

    simulated_year.report(year, simulated_year.DAYS)
    assert year.found >= year.found_by_twin - LOST_AT_MOST
