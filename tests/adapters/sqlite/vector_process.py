"""A process that writes points to a folder's index and says on stdout what is in it.

python vector_process.py write PATH NAME TIMES   writes so many points, one after another
python vector_process.py numbers PATH NAME       writes until it is stopped
"""

import sys
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
sys.path.insert(0, str(Path(__file__).parents[3] / "shared"))

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.vectors import LocalVectors
from tests.adapters.vector_cases import EMB_ID, point, unit

_PATIENCE_SECONDS = 120  # another one writes without a pause, and the lock of SQLite is not fair


def main(verb: str, path: str, name: str, times: str = "0") -> None:
    index = LocalVectors(SqliteDatabase(path, busy_seconds=_PATIENCE_SECONDS), EMB_ID)
    for number in range(int(times)) if verb == "write" else count():
        index.upsert("b", [point(f"{name}-{number:04}", unit(1), ["pearl"])])
        print(f"{name}-{number:04}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
