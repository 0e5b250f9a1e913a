"""Points as a Being might have them: random vectors, and words as frequent as words are.

python vector_load.py PATH   opens an index, searches once and prints JSON:
milliseconds until the first answer, and the memory of the process in megabytes
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    sys.path.insert(0, str(Path(__file__).parents[2] / "shared"))

from nacre.ports.vectors.vector_index import Filter, Point, Question

BEING = "b"
DIMENSION = 256  # of the built-in table
EMB_ID = f"test:random:{DIMENSION}:1"
LIVING = Filter(states=frozenset({"active", "dying", "pending"}))
_WORDS = 30_000
_TERMS = 14


class Load:
    """Points and questions that are the same in every run."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(1)
        weights = 1 / np.arange(1, _WORDS + 1)
        self._often = weights / weights.sum()
        self._rare = weights[20:] / weights[20:].sum()  # a question has no stop words

    def vector(self) -> bytes:
        numbers = self._rng.standard_normal(DIMENSION).astype("<f4")
        return bytes((numbers / np.linalg.norm(numbers)).astype("<f4").tobytes())

    def points(self, first: int, count: int, size: int = 500) -> Iterator[list[Point]]:
        for start in range(first, first + count, size):
            words = self._rng.choice(_WORDS, (size, _TERMS), p=self._often)
            yield [
                Point(
                    id=f"{number:08}-0000-4000-8000-000000000000",
                    kind="node",
                    state="active",
                    cluster_id=f"c{number % 50}",
                    days=(f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}",),
                    vector=self.vector(),
                    terms=tuple(f"t{word}" for word in row),
                    text_sha="sha",
                )
                for number, row in enumerate(words, start)
            ]

    def question(self) -> tuple[bytes, list[str]]:
        words = self._rng.choice(np.arange(20, _WORDS), 8, p=self._rare)
        return self.vector(), [f"t{word}" for word in words]


def resident(pid: int | str = "self") -> float:
    """Return the memory of a process in megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main(path: str) -> None:
    started = time.perf_counter()
    from nacre.adapters.sqlite.database import SqliteDatabase
    from nacre.adapters.sqlite.vectors import LocalVectors

    index = LocalVectors(SqliteDatabase(path), EMB_ID)
    vector, terms = Load().question()
    index.search(BEING, Question(dense=vector, sparse=terms, where=LIVING, limit=100))
    took = (time.perf_counter() - started) * 1000
    print(json.dumps({"first": took, "rss": resident()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
