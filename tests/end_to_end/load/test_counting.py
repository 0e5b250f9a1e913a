"""What calls ask for now, beside what the capacity model is reckoned from."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from infra.cost import Load, one_call
from tests.end_to_end.load.counting import MEASURED, counted, functions

pytestmark = [
    pytest.mark.slow,
    # Functions end without a word, and nobody closes their connections.
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

REPAIR = (
    "run `python -m tests.end_to_end.load.counting --write`, then `python -m infra.cost --write`"
)
CLOSE = 0.05  # ids are drawn anew each time, and which of equal memories are found may differ


def differences(now: Any, then: Any, where: str = "") -> list[str]:
    """Return what is not as it was; processor times are another machine's."""
    if isinstance(then, Mapping):
        if now.keys() != then.keys():
            return [f"{where}: {sorted(now)} instead of {sorted(then)}"]
        return [
            difference
            for name in then
            if name != "processor_ms"
            for difference in differences(now[name], then[name], f"{where}/{name}")
        ]
    if isinstance(then, list):
        if len(now) != len(then):
            return [f"{where}: {now} instead of {then}"]
        pairs = enumerate(zip(now, then, strict=True))
        return [each for at, (a, b) in pairs for each in differences(a, b, f"{where}[{at}]")]
    if abs(now - then) <= CLOSE * abs(then):
        return []
    return [f"{where}: {now} instead of {then}"]


def test_calls_ask_for_what_the_model_is_reckoned_from() -> None:
    then = json.loads(MEASURED.read_text())["counted"]

    assert differences(counted(), then) == [], REPAIR


def test_the_model_foresees_what_a_larger_memory_takes() -> None:
    with functions("nacre-load-larger") as all_:
        all_.note(10)
        all_.work()
        all_.multiply_vectors(30)
        all_.call("recall")
        found = all_.call("recall")["Query"].units
    load = Load(searches="items", memories=300, paused=0, misses=0)
    foreseen = (one_call("recall", load), one_call("recall", replace(load, memories=10)))

    grown = foreseen[0].read_units - foreseen[1].read_units
    assert grown == pytest.approx(found * 290 / 300, rel=0.05)
