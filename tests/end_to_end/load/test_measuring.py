"""What a load run says about memory and time, on runs that are made up."""

import re
from pathlib import Path

import pytest

from tests.end_to_end.load.measuring import (
    ALLOWED_BYTES,
    BYTES_PER_MEMORY,
    Sample,
    Timings,
    growth,
    percentile,
)

MEGABYTE = 2**20
BENCHMARKS = Path(__file__).parents[3] / "docs" / "reference" / "benchmarks.md"


def samples(*sizes: float, written: int = 0) -> list[Sample]:
    return [Sample(int(size * MEGABYTE), written * at) for at, size in enumerate(sizes)]


def test_a_start_may_take_what_it_needs() -> None:
    assert growth(samples(30, 80, 110, 110, 111, 110, 112, 111, 110)).is_flat


def test_a_peak_of_a_moment_is_no_leak() -> None:
    assert growth(samples(30, 80, 110, 110, 110, 110, 110, 300, 110)).is_flat


def test_what_grows_with_every_call_is_a_leak() -> None:
    found = growth(samples(*(100 + 2 * number for number in range(30))))

    assert not found.is_flat
    assert found.grown == 20 * MEGABYTE
    assert str(found) == "+20.0 MB, of 12.0 MB allowed"


def test_the_page_says_which_leak_a_run_finds() -> None:
    page = " ".join(BENCHMARKS.read_text(encoding="utf-8").split())
    calls = re.search(r"Five minutes \(`make load ARGS=laptop`\):.*?\| all \| (\d+) \|", page)
    assert calls
    third = int(calls[1]) / 3

    leak = f"five minutes this finds a leak of {ALLOWED_BYTES / third / 1000:.1f} kB a call"
    assert f"{leak}, in half an hour one of {ALLOWED_BYTES / (6 * third) / 1000:.1f} kB." in page


def test_memories_that_were_written_meanwhile_may_take_room() -> None:
    written = 1500
    found = growth(samples(*(100 + 4 * number for number in range(30)), written=written))

    assert found.allowed == ALLOWED_BYTES + BYTES_PER_MEMORY * 10 * written
    assert found.is_flat


@pytest.mark.parametrize(("share", "expected"), [(50, 50), (95, 95), (99, 99), (100, 100)])
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(share: int, expected: int) -> None:
    assert percentile(range(100, 0, -1), share) == expected


def test_the_one_value_is_every_percentile() -> None:
    assert [percentile([7.0], share) for share in (50, 95, 99)] == [7.0, 7.0, 7.0]


def test_a_table_has_a_row_for_each_kind_and_one_for_all() -> None:
    timings = Timings()
    for seconds in (0.01, 0.02, 0.03):
        timings.took("recall", seconds)
    timings.took("policy", 0.002)
    timings.failed("policy", "503")

    assert timings.calls == 5
    assert timings.rows(2.0) == [
        ("recall", 3, "1.5", "20", "30", "30", 0),
        ("policy", 1, "0.5", "2", "2", "2", 1),
        ("all", 4, "2.0", "10", "30", "30", 1),
    ]
    assert timings.first_errors == ["policy: 503"]
