"""A process that takes notes for a Being and says on stdout what was acknowledged.

python notes_process.py store PATH BEING COUNT   stores so many scenes at once, each by a thread
python notes_process.py loop PATH BEING NAME     stores one scene after another, until it is stopped
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[3] / "shared"))

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.adapters.sqlite.vectors import LocalVectors
from nacre.being.memory.index.cluster_vectors import ClusterMeans
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model.types import SceneDraft
from nacre.being.memory.repositories import Repositories, open_repositories
from nacre.being.memory.store.nodes import Nodes
from nacre.core.clock import system_clock

_PATIENCE_SECONDS = 120  # others write without a pause, and the lock of SQLite is not fair


def open_memory(path: str) -> Repositories:
    """Return the memory in a file, searched by words."""
    database = SqliteDatabase(path, busy_seconds=_PATIENCE_SECONDS)
    table = SqliteTable(database)
    rng = Random()
    indexing = IndexSync(
        table,
        lambda emb_id: LocalVectors(database, emb_id),
        None,
        clock=system_clock,
        rng=rng,
        non_durable_table=SqliteTable(database),
    )
    means = ClusterMeans(table, Nodes(table, indexing), indexing)
    queue = SqliteQueue(database, "jobs")
    return open_repositories(table, queue, indexing, means, clock=system_clock, rng=rng)


def store(memory: Repositories, being_id: str, name: str) -> str:
    """Store one scene and say what came of it."""
    draft = SceneDraft(action=f"event {name}", actors=("Ann",), when=("2026-07-01",))
    [scene] = memory.scenes.record(being_id, [draft]).scenes
    return json.dumps([scene.scene_id, memory.trigger.after_scenes(being_id).patrol])


def main(verb: str, path: str, being_id: str, argument: str) -> None:
    memory = open_memory(path)
    if verb == "store":
        sys.stdin.readline()  # so that all processes begin together
        with ThreadPoolExecutor(int(argument)) as pool:
            names = [f"{argument} {number}" for number in range(int(argument))]
            for line in pool.map(lambda name: store(memory, being_id, name), names):
                print(line, flush=True)
    else:
        for number in count():
            print(store(memory, being_id, f"{argument} {number}"), flush=True)
            time.sleep(0.002)  # SQLite hands its lock to nobody: the other one must find it


if __name__ == "__main__":
    main(*sys.argv[1:])
