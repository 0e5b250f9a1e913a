"""A server that moves memories of version 0.1.0 to today's embedding while it is searched.

    python -m tests.benchmarks.embedding_change FOLDER [COUNT]

fills the folder with memories under the embedding of version 0.1.0, starts `nacre serve`, searches
until the new index has taken over, and prints how long searches take meanwhile and afterwards, and
how much memory the server uses.
"""

import json
import os
import sys
from contextlib import closing
from pathlib import Path
from random import Random
from statistics import median
from threading import Thread
from time import perf_counter

from nacre.wiring.features.memory import calm_numpy
from nacre.wiring.laptop import open_laptop
from tests.benchmarks.memory_load import QUESTIONS, filled, question
from tests.benchmarks.table import show
from tests.cli.processes import Server, finish, serving, start


def main() -> None:
    """Measure one change."""
    folder = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    being_id = filled(folder, count, "builtin-static")
    os.environ.update(NACRE_HOME=str(folder))
    code, out, err = finish(start("token", "create", "--scope", "full", "--json"))
    assert code == 0, err
    token = json.loads(out)["token"]
    rng = Random(1)
    with closing(open_laptop(folder)) as home, serving() as server:
        assert server.process.stderr is not None
        # Nobody needs the log, but a full pipe would hold the server up.
        Thread(target=server.process.stderr.read, daemon=True).start()
        place = f"?being_id={being_id}"
        states = home.index.indexing.states
        configured = home.index.indexing.configured

        def search() -> float:
            return searched(server, place, token, question(rng))

        started = perf_counter()
        first = search()
        meanwhile = [search()]
        while (state := states.get(being_id)) is None or state.active != configured:
            meanwhile.append(search())
        seconds = perf_counter() - started
        used = memory(server)
        first_after = search()
        after = [search() for _ in range(QUESTIONS)]
        rows = [
            ("first search ms", f"{first:.0f}"),
            ("change of the embedding s", f"{seconds:.1f}"),
            ("search meanwhile ms", f"{median(meanwhile):.1f}"),
            ("search meanwhile, 99 of 100 within ms", f"{high(meanwhile):.1f}"),
            ("searches meanwhile", len(meanwhile)),
            ("first search afterwards ms", f"{first_after:.0f}"),
            ("search afterwards ms", f"{median(after):.1f}"),
            ("search afterwards, 99 of 100 within ms", f"{high(after):.1f}"),
            ("memory at the end of the change MB, and its peak", f"{used[0]:.0f}, {used[1]:.0f}"),
            ("memory afterwards MB, and its peak", "{:.0f}, {:.0f}".format(*memory(server))),
        ]
    show(f"A change of the embedding of {count} memories", ("", ""), rows)


def searched(server: Server, place: str, token: str, query: str) -> float:
    """Return how many milliseconds a search takes over HTTP."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search_memory", "arguments": {"query": query}},
    }
    started = perf_counter()
    status, answer = server.post(place, token, message)
    seconds = perf_counter() - started
    assert status == 200, answer
    assert not answer["result"].get("isError"), answer
    return seconds * 1000


def memory(server: Server) -> tuple[float, float]:
    """Return the memory that a server uses and the most that it used, in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    now, most = (int(status.partition(f"{name}:")[2].split()[0]) for name in ("VmRSS", "VmHWM"))
    return now / 1024, most / 1024


def high(times: list[float]) -> float:
    """Return the time within which 99 of 100 are."""
    return sorted(times)[int(len(times) * 0.99)]


if __name__ == "__main__":
    calm_numpy()
    main()
