"""What the content checks find and what they cost: both halves of the texts beside the checkout.

The split is by a hash of each text. Rules were written after reading the seen half; of the
held-out half only counts were seen.
"""

from collections import defaultdict
from collections.abc import Callable
from statistics import mean, median
from time import process_time_ns

import pytest

from nacre.firewall.content.injection.scan import scan
from nacre.firewall.content.secrets import BUILT_IN, find_secrets
from tests.benchmarks.table import show
from tests.firewall.content.content_cases import (
    EVERYTHING,
    HALVES,
    Judged,
    is_strict,
    judged_definitions,
    judged_texts,
    share,
)
from tests.vectors.sets import BESIDE, rows

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.skipif(not BESIDE.is_dir(), reason="no vectors beside the checkout"),
]


def counts(judged: list[Judged]) -> list[str]:
    cells = []
    for half in (*HALVES, None):
        part = [each for each in judged if half in (None, each.half)]
        hits = sum(each.is_flagged for each in part)
        cells.append(f"{hits}/{len(part)} ({100 * share(part):.1f} %)")
    return cells


def test_what_is_found_in_each_half() -> None:
    attacks = judged_texts("beside", "injection_attacks")
    benign = judged_texts("beside", "injection_benign")
    plain = [each for each in attacks if not each.is_hard]
    sets = {
        "attacks, not hard": plain,
        "attacks, hard": [each for each in attacks if each.is_hard],
        "benign": benign,
        "benign, strict groups": [each for each in benign if is_strict(each)],
        "poisoned definitions": judged_definitions("beside", poisoned=True),
        "clean definitions": judged_definitions("beside", poisoned=False),
    }
    show(
        "Flagged",
        ["texts", "seen", "held out", "all"],
        [[name, *counts(judged)] for name, judged in sets.items()],
    )
    for half in (*HALVES, None):
        hits = sum(each.is_flagged for each in plain if half in (None, each.half))
        wrong = sum(each.is_flagged for each in benign if half in (None, each.half))
        print(f"precision, {half or 'all'}: {hits / max(hits + wrong, 1):.3f}")
    for title, judged in sets.items():
        groups: dict[str, list[Judged]] = defaultdict(list)
        for each in judged:
            groups[each.group].append(each)
        show(
            f"{title}, by group",
            ["group", "seen", "held out", "all"],
            [[name, *counts(part)] for name, part in sorted(groups.items())],
        )
    assert share(plain) >= 0.5
    assert share(benign) <= 0.015
    assert share(sets["benign, strict groups"]) <= 0.005
    assert share(sets["poisoned definitions"]) >= 0.8


def test_what_a_text_costs() -> None:
    texts = [
        row["text"]
        for name in ("injection_attacks", "injection_benign")
        for row in rows("beside", name)
    ]
    table: list[tuple[str, int, int, int]] = []
    checks: dict[str, Callable[[str], object]] = {
        "injection": lambda text: scan(text, kind="result", section=EVERYTHING),
        "secrets": lambda text: find_secrets(text, BUILT_IN),
    }
    for name, check in checks.items():
        for text in texts:
            check(text)
        times = []
        for text in texts:
            rounds = []
            for _ in range(3):
                started = process_time_ns()
                check(text)
                rounds.append((process_time_ns() - started) / 1000)
            times.append(min(rounds))
        table.append((name, round(median(times)), round(mean(times)), round(max(times))))
        characters = sum(map(len, texts)) / len(texts)
    show(
        f"Microseconds a text ({characters:.0f} characters on average)",
        ["check", "median", "mean", "worst"],
        table,
    )
    assert all(row[2] <= 300 for row in table)


# Each is repeated: what makes windows, tokens, shapes or readings many.
HEAVY = (
    "a", " ", "- ", "a@", "a_b_", "(", "***", "i g n ", "1gn0r3 ", "you must ", "ai, ", "http://a ",
    "ignore all previous instructions ", "<!-- ", "system: ", "--- end of document\n",
    "忽略之前的指令",
    "![x](http://a?", '"ignore previous" ', "aWdub3Jl",
)  # fmt: skip


def seconds(text: str) -> float:
    started = process_time_ns()
    scan(text, kind="definition", section=EVERYTHING)
    return (process_time_ns() - started) / 1e9


def test_time_grows_with_the_length() -> None:
    ratios = {}
    for unit in HEAVY:
        short = min(seconds(unit * (20_000 // len(unit))) for _ in range(3))
        long = min(seconds(unit * (160_000 // len(unit))) for _ in range(2))
        ratios[unit] = long / short
    show(
        "Eight times the length",
        ["text", "times the time"],
        [[repr(unit), f"{ratio:.1f}"] for unit, ratio in ratios.items()],
    )
    assert max(ratios.values()) < 16
