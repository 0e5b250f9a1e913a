"""Measuring several ways of doing one thing in turns, and showing them side by side."""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TypeVar

Name = TypeVar("Name")


def cpu_times(
    ways: Mapping[Name, Callable[[], object]],
    *,
    rounds: int,
    calls: int,
    of: Callable[[Sequence[float]], float] = median,
) -> dict[Name, float]:
    """Return the CPU time of one call of each way in microseconds: the median, or `of` the rounds.

    The ways take turns, so that what disturbs the machine disturbs them alike.
    """
    samples: dict[Name, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started = time.process_time_ns()
            for _ in range(calls):
                way()
            samples[name].append((time.process_time_ns() - started) / calls / 1000)
    return {name: of(values) for name, values in samples.items()}


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table in Markdown, as the pages under docs carry it."""
    print(f"\n{title}\n")
    print(f"| {' | '.join(header)} |")
    print(f"|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")
