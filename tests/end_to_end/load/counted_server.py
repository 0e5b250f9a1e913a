"""`nacre` with an item store that counts what it is asked, at its port.

SIGUSR1 writes the counts into counts.json beside the data folder: those of calls, and those of
jobs, which the threads of the worker do. NACRE_LOAD_LEAK keeps so many bytes with every operation
and never lets go of them, to see that the soak notices.
"""

import json
import os
import signal
import threading
from collections import Counter
from functools import wraps
from pathlib import Path
from typing import Any

from nacre.adapters.sqlite import table

OPERATIONS = ("get", "get_many", "put", "update", "delete", "query", "transact")
_counts = {"calls": Counter[str](), "jobs": Counter[str]()}
_guard = threading.Lock()
_kept: list[bytes] = []


class CountedTable(table.SqliteTable):
    """The store of a laptop, counted."""


def _counted(name: str, leak: int) -> Any:
    method = getattr(table.SqliteTable, name)

    @wraps(method)
    def counted(*arguments: Any, **others: Any) -> Any:
        by = "jobs" if threading.current_thread().name.startswith("nacre-worker") else "calls"
        with _guard:
            _counts[by][name] += 1
            if leak:
                _kept.append(os.urandom(leak))
        return method(*arguments, **others)

    return counted


def _told(folder: Path) -> None:
    """Write the counts down, whole."""
    written = folder / "counts.new"
    written.write_text(json.dumps(_counts))
    written.replace(folder / "counts.json")


def main() -> None:
    """Serve as `nacre` does."""
    leak = int(os.environ.get("NACRE_LOAD_LEAK", "0"))
    for name in OPERATIONS:
        setattr(CountedTable, name, _counted(name, leak))
    table.SqliteTable = CountedTable  # type: ignore[misc]  # before anybody imports it
    folder = Path(os.environ["NACRE_HOME"]).parent
    signal.signal(signal.SIGUSR1, lambda *_: _told(folder))

    from nacre.cli.main import main as nacre

    nacre()


if __name__ == "__main__":
    main()
