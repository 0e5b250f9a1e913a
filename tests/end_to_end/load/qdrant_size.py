"""Measure the memory and disk that Qdrant takes: `python -m tests.end_to_end.load.qdrant_size`."""

import argparse
import json
import tempfile
from array import array
from pathlib import Path
from random import Random

from infra.qdrant_server import QdrantServer
from nacre.adapters.qdrant.calls import connect
from nacre.adapters.qdrant.vectors import QdrantVectors
from nacre.ports.vectors.vector_index import Point
from nacre.text.analysis import terms
from tests.end_to_end.load.counting import MEASURED
from tests.end_to_end.load.measuring import resident
from tests.end_to_end.load.traffic import scene

DIMENSION = 256  # of the built-in table
POINTS = 20_000
_BEINGS = 100
_AT_ONCE = 500


def main() -> None:
    """Fill a server and say what it takes; with --write into the file of the capacity model."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.end_to_end.load.qdrant_size", description=__doc__
    )
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = taken(Path(folder))
    print(json.dumps(found))
    if chosen.write:
        known = json.loads(MEASURED.read_text())
        MEASURED.write_text(json.dumps({**known, "qdrant": found}, indent=1) + "\n")


def taken(folder: Path) -> dict[str, int]:
    """Return what points take, beyond what a server with hardly any takes."""
    server = QdrantServer(folder / "qdrant")
    server.start()
    client = connect(server.url)
    try:
        vectors = QdrantVectors(client, f"load:random:{DIMENSION}:1")
        rng = Random(5)
        _fill(vectors, rng, range(_AT_ONCE))
        before = resident(server.pid), _disk(folder)
        _fill(vectors, rng, range(_AT_ONCE, POINTS + _AT_ONCE))
        after = resident(server.pid), _disk(folder)
    finally:
        client.close()
        server.kill()
    return {
        "points": POINTS,
        "resident_bytes_per_point": (after[0] - before[0]) // POINTS,
        "disk_bytes_per_point": (after[1] - before[1]) // POINTS,
    }


def _fill(vectors: QdrantVectors, rng: Random, numbers: range) -> None:
    for start in range(numbers.start, numbers.stop, _AT_ONCE):
        some = [_point(rng, number) for number in range(start, start + _AT_ONCE)]
        vectors.upsert(f"00000000-0000-4000-8000-{start % _BEINGS:012}", some)


def _point(rng: Random, number: int) -> Point:
    told = scene(rng, number)
    vector = array("f", (rng.gauss(0, 1) for _ in range(DIMENSION))).tobytes()
    return Point(
        id=f"{number:032x}",
        kind="node",
        state="active",
        cluster_id=f"cluster-{number % 50}",
        days=tuple(told["when"]),
        vector=vector,
        terms=terms(told["action"]),
        text_sha=f"{number:032x}",
    )


def _disk(folder: Path) -> int:
    return sum(each.stat().st_blocks * 512 for each in folder.rglob("*") if each.is_file())


if __name__ == "__main__":
    main()
