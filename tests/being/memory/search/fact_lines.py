"""The facts that tests and benchmarks of changed facts share.

Each line of the files has a language, a person, an older and a newer fact, and a question; those
of changes also have a question about the past. `unseen_*` were written from the promise alone,
before the rules, and nothing was tuned on them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

Line = list[str]


def lines_of(name: str) -> list[Line]:
    """Return the lines of a file."""
    text = (Path(__file__).parent / f"{name}.tsv").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]


def facts_of(lines: Sequence[Line]) -> Iterator[dict[str, Any]]:
    """Yield the fields of two memories for each line, the second a year after the first."""
    for number, line in enumerate(lines):
        for place in (0, 1):
            day = f"{2025 + place}-{number % 12 + 1:02}-{number % 28 + 1:02}"
            yield {"action": line[2 + place], "actors": (line[1],), "when": (day,)}
