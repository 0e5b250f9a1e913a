"""The time in which a stack patrols many Beings, simulated from counted requests.

`python -m infra.patrol_capacity --beings 100000 --concurrency 100` prints it. The sweep and the
patrols wait for each of their requests, counted in `infra/measured.json`; the workers are as many
as the parameter PatrolConcurrency allows.
"""

import argparse
import heapq
from dataclasses import dataclass
from typing import Any

from infra.cost import Load, measured, table
from nacre.being.memory.model import keys
from nacre.core.limits import SWEEP_SHARD_SECONDS, SWEEP_SLICE_SECONDS

SHARDS = len(keys.work_partitions())
SWEEP_REQUESTS = 2  # for each Being: its claim, and its message
JOB_SECONDS = 0.1  # for a message to reach a worker, and for the worker to report that it is done
STARTED_A_SECOND = 5  # workers, as a queue's pollers grow by 300 a minute
TABLE_WRITES = 40_000  # units a second: the quota of a table in an account that asked for no more
BEINGS = 100_000
CONCURRENCY = 100
SCENES = 4  # that wait at a Being: ten start a patrol at once, without the sweep


@dataclass(frozen=True, slots=True)
class Patrolled:
    """The result of a simulation, in seconds and messages."""

    swept_seconds: float  # until every Being had a job
    seconds: float  # until every job was done
    deepest: int  # messages that waited at one time
    write_units_a_second: float  # on average


def patrol_seconds(scenes: float, load: Load) -> float:
    """Return the time of one patrol: its requests, one after the other, and its computing."""
    counts = _counts(load)
    share: float = scenes / counts["scenes"]
    requests: float = sum(times for times, _ in counts["asked"].values()) * share
    processor_ms: float = counts["processor_ms"] * share
    return (requests * load.dynamodb_ms + processor_ms) / 1000


def patrol_writes(scenes: float, load: Load) -> float:
    """Return the write units of one patrol."""
    counts = _counts(load)
    written = (amount for name, (_, amount) in counts["asked"].items() if name not in _READS)
    units: float = sum(written) * scenes / counts["scenes"]
    return units


_READS = ("GetItem", "BatchGetItem", "Query")


def _counts(load: Load) -> dict[str, Any]:
    """Return the counted patrol of a small memory, in which few scenes share what all need."""
    counts: dict[str, Any] = measured()["counted"][load.searches]["sizes"][0]["patrol"]
    return counts


def simulate(
    beings: int,
    concurrency: int,
    *,
    scenes: float = SCENES,
    load: Load | None = None,
    started_a_second: float = STARTED_A_SECOND,
) -> Patrolled:
    """Return how a sweep of Beings that all have work is worked off, message by message."""
    load = load or Load()
    each = SWEEP_REQUESTS * load.dynamodb_ms / 1000
    inline = min(beings, int(SWEEP_SLICE_SECONDS / each))
    # Jobs as (when they were sent, Being or shard, how long they take); the sweep's go first.
    free = [number / started_a_second for number in range(concurrency)]  # when workers take one
    heapq.heapify(free)
    first = heapq.heappop(free)
    sent = [first + (number + 1) * each for number in range(inline)]
    heapq.heappush(free, first + inline * each + JOB_SECONDS)
    swept = first + inline * each
    rest, part = beings - inline, int(SWEEP_SHARD_SECONDS / each)
    queue = [(swept, -(-rest // SHARDS)) for _ in range(SHARDS)] if rest else []
    while queue:  # each job of a shard goes on in another
        ready, left = heapq.heappop(queue)
        begun = max(ready, heapq.heappop(free))
        now = min(left, part, beings - len(sent))
        sent += [begun + (number + 1) * each for number in range(now)]
        ended = begun + now * each
        heapq.heappush(free, ended + JOB_SECONDS)
        swept = max(swept, ended)
        if left > now and len(sent) < beings:
            heapq.heappush(queue, (ended, left - now))
    sent.sort()
    taken = patrol_seconds(scenes, load) + JOB_SECONDS
    begins, last = [], 0.0
    for ready in sent:
        begun = max(ready, heapq.heappop(free))
        begins.append(begun)
        last = max(last, begun + taken)
        heapq.heappush(free, begun + taken)
    return Patrolled(
        swept, last, _deepest(sent, begins), beings * patrol_writes(scenes, load) / last
    )


def _deepest(sent: list[float], begins: list[float]) -> int:
    """Return how many messages waited at most."""
    events = sorted([(when, 1) for when in sent] + [(when, -1) for when in begins])
    waiting = deepest = 0
    for _, change in events:
        waiting += change
        deepest = max(deepest, waiting)
    return deepest


def by_concurrency() -> str:
    """Return the time for many Beings by the parameter PatrolConcurrency."""
    rows = []
    for beings, concurrency in ((2000, 5), (BEINGS, 50), (BEINGS, 100), (BEINGS, 200)):
        result = simulate(beings, concurrency)
        rows.append(
            (
                f"{beings:,}",
                concurrency,
                f"{result.swept_seconds:,.0f} s",
                f"{result.seconds / 60:,.1f} min",
                f"{result.deepest:,}",
                f"{result.write_units_a_second:,.0f}",
            )
        )
    header = (
        "Beings with work",
        "`PatrolConcurrency`",
        "all are queued after",
        "all are patrolled after",
        "messages that wait at most",
        "write units a second",
    )
    return table(header, rows)


def main() -> None:
    """Print a simulation."""
    parser = argparse.ArgumentParser(prog="python -m infra.patrol_capacity", description=__doc__)
    parser.add_argument("--beings", type=int, default=BEINGS)
    parser.add_argument("--concurrency", type=int, default=CONCURRENCY)
    parser.add_argument("--scenes", type=float, default=SCENES, help="that wait at each Being")
    chosen = parser.parse_args()
    result = simulate(chosen.beings, chosen.concurrency, scenes=chosen.scenes)
    print(f"{chosen.beings:,} Beings with {chosen.scenes:g} scenes, {chosen.concurrency} workers")
    print(f"  all are queued after {result.swept_seconds:,.0f} s")
    print(f"  all are patrolled after {result.seconds:,.0f} s")
    print(f"  at most {result.deepest:,} messages wait")
    print(f"  {result.write_units_a_second:,.0f} write units a second, of {TABLE_WRITES:,}")


if __name__ == "__main__":
    main()
