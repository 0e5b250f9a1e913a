"""What a load run finds: how long calls took, what failed, and how much memory a process had."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_EVERY_SECONDS = 0.5

# What may still be filled: caches of words and texts that have bounds, SQLite's 2 MB for each of
# its connections, and the allocator's pools.
ALLOWED_BYTES = 12 * 1024 * 1024
BYTES_PER_MEMORY = 4 * 1024  # a vector of 256 numbers, its terms and its ids, in Python's objects


@dataclass
class Timings:
    """How long each call of a kind took, and which failed."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    first_errors: list[str] = field(default_factory=list)

    def took(self, kind: str, seconds: float) -> None:
        """Note a call that was answered."""
        self.seconds.setdefault(kind, []).append(seconds)

    def failed(self, kind: str, error: str) -> None:
        """Note a call that was not."""
        self.errors[kind] = self.errors.get(kind, 0) + 1
        if len(self.first_errors) < 5:
            self.first_errors.append(f"{kind}: {error}")

    @property
    def calls(self) -> int:
        """Return how many calls were made."""
        return sum(map(len, self.seconds.values())) + sum(self.errors.values())

    def rows(self, lasted: float) -> list[Sequence[object]]:
        """Return a row for each kind and one for all: calls, a second, percentiles, errors."""
        every = [each for taken in self.seconds.values() for each in taken]
        kinds: Mapping[str, list[float]] = {**self.seconds, "all": every}
        return [
            (
                kind,
                len(taken),
                f"{len(taken) / lasted:.1f}",
                *(f"{percentile(taken, share) * 1000:.0f}" for share in (50, 95, 99)),
                self.errors.get(kind, 0) if kind != "all" else sum(self.errors.values()),
            )
            for kind, taken in kinds.items()
        ]


HEADER = ("Call", "calls", "calls/s", "p50 ms", "p95 ms", "p99 ms", "errors")


def percentile(taken: Sequence[float], share: float) -> float:
    """Return what so many hundredths of the values do not exceed."""
    ordered = sorted(taken)
    return ordered[max(0, -(-len(ordered) * int(share) // 100) - 1)] if ordered else float("nan")


@dataclass(frozen=True, slots=True)
class Sample:
    """How much memory a process had, and how many memories had been written by then."""

    rss: int
    memories: int


@dataclass(frozen=True, slots=True)
class Growth:
    """By how much memory grew from the second third of a run to its last."""

    grown: int
    allowed: int

    @property
    def is_flat(self) -> bool:
        """Whether it grew by no more than what was written and caches account for."""
        return self.grown <= self.allowed

    def __str__(self) -> str:
        return f"{self.grown / 2**20:+.1f} MB, of {self.allowed / 2**20:.1f} MB allowed"


def growth(samples: Sequence[Sample]) -> Growth:
    """Return how a process grew; its first third is a start and does not count.

    The middles of both thirds are compared, so that a moment's peak says nothing. What grows
    with every call passes the allowance sooner or later: the longer the run, the smaller the leak
    that is found.
    """
    third = len(samples) // 3
    assert third, "a run of three samples at least"
    before, after = samples[third : 2 * third], samples[2 * third :]
    written = _middle(after, "memories") - _middle(before, "memories")
    return Growth(
        grown=_middle(after, "rss") - _middle(before, "rss"),
        allowed=ALLOWED_BYTES + BYTES_PER_MEMORY * written,
    )


def _middle(samples: Sequence[Sample], name: str) -> int:
    return int(median(getattr(each, name) for each in samples))


def resident(pid: int) -> int:
    """Return the memory that a process has, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def watch(pid: int, written: Sequence[str], samples: list[Sample]) -> None:
    """Take samples until it is cancelled."""
    while True:
        samples.append(Sample(resident(pid), len(written)))
        await asyncio.sleep(_EVERY_SECONDS)
