"""A process that writes to a store and says on stdout what was acknowledged.

python store_process.py numbers PATH NAME   puts one item after another, until it is stopped
python store_process.py count PATH TIMES    adds to one counter so many times
python store_process.py fill PATH BYTES     puts items until the file may not grow further
"""

import resource
import signal
import sys
import time
from itertools import count
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[3] / "shared"))

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import NacreError
from nacre.ports.items.table import Change, Key, Put, Update

_PATIENCE_SECONDS = 120  # another one writes without a pause, and the lock of SQLite is not fair


def main(verb: str, path: str, argument: str) -> None:
    if verb == "fill":
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(argument), int(argument)))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    table = SqliteTable(SqliteDatabase(path, busy_seconds=_PATIENCE_SECONDS))
    match verb:
        case "numbers":
            for number in count():
                # Two items that belong together: a half is as bad as a loss.
                table.transact(
                    [
                        Put({"pk": argument, "sk": f"{number:08}", "schema": 1, "text": "x" * 500}),
                        Update(Key(argument, "COUNT"), Change(set={"schema": 1}, add={"n": 1})),
                    ]
                )
                print(number, flush=True)
                time.sleep(0.002)  # SQLite hands its lock to nobody: the other one must find it
        case "count":
            for _ in range(int(argument)):
                table.update(Key("C", "COUNT"), Change(set={"schema": 1}, add={"n": 1}))
            print("counted", flush=True)
        case "fill":
            for number in count():
                try:
                    table.put({"pk": "F", "sk": f"{number:08}", "schema": 1, "text": "x" * 50_000})
                except NacreError as error:
                    print(f"{type(error).__name__}: {error}", flush=True)
                    return
                print(number, flush=True)
        case _:
            raise SystemExit(__doc__)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)  # as a server does: between any two steps of the write


if __name__ == "__main__":
    main(*sys.argv[1:])
