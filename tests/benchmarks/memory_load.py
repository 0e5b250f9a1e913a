"""A Being with many memories, and one process that is asked about them.

    python -m tests.benchmarks.memory_load FOLDER BEING [ROUNDS]

prints as JSON how long the first search took, how long searches and recalls take inside the
server, and how much memory the process uses.
"""

import json
import resource
import sys
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any, TypeVar

from nacre.being.memory.model.types import Node
from nacre.protocol.context import Context
from nacre.protocol.principal import FULL, Principal
from nacre.wiring.compose import Home
from nacre.wiring.features.memory import calm_numpy
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings

T = TypeVar("T")

WHO = ("Ann", "Bo", "Cleo", "Dag", "Eve", "Finn", "Gus", "Hana")
DID = ("fixed", "lost", "bought", "painted", "sold", "forgot", "found", "promised", "described")
WHAT = ("the ladder", "a red bicycle", "an old piano", "the garden gate", "a letter", "her keys")
WHERE = ("at the harbour", "in the kitchen", "near the station", "on the balcony", "at school")
WHY = ("because of the storm", "after the concert", "for the neighbours", "before the holidays")
QUESTIONS = 200
_AT_ONCE = 40


def sentence(rng: Random, number: int) -> str:
    """Return something that could have happened."""
    parts = (rng.choice(WHO), rng.choice(DID), rng.choice(WHAT), rng.choice(WHERE), rng.choice(WHY))
    return f"{' '.join(parts)} ({number})"


def question(rng: Random) -> str:
    """Return what somebody might want to know."""
    return f"What did {rng.choice(WHO)} say about {rng.choice(WHAT)} {rng.choice(WHERE)}?"


def filled(folder: Path, count: int, embeddings: str = "builtin") -> str:
    """Give a new Being so many nodes, and return its id."""
    laptop = open_laptop(folder, Settings(str(folder), embeddings=embeddings))
    rng = Random(count)
    being_id = laptop.beings.create(f"Being {count}", owner="me").being_id
    nodes = mind(laptop).memory.nodes
    for first in range(0, count, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, count))
        nodes.add(being_id, [_node(rng, number) for number in numbers])
    laptop.close()
    return being_id


def _node(rng: Random, number: int) -> Node:
    return Node(
        node_id=f"00000000-0000-4000-8000-{number:012}",
        action=sentence(rng, number),
        actors=(rng.choice(WHO),),
        when=(f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}",),
        created_at="2026-01-01T00:00:00.000Z",
        stability=16.0,
        due=200,
    )


def mind(laptop: Home) -> Any:
    """Return the mind behind a server's tools."""
    return laptop.memory_services


def finished(running: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns that never waits, as those of blocking tools."""
    try:
        running.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise AssertionError("it waits for an event loop")


def caller(laptop: Home, being_id: str) -> Any:
    """Return what calls a tool as the server does, and gives back how long that took."""
    context = Context(principal=Principal("bench", being_id, FULL))

    def call(name: str, **arguments: Any) -> float:
        tool = laptop.application.surface.get_tool(name)
        assert tool is not None
        started = perf_counter()
        result = finished(tool.call(arguments, context)).to_dict()
        seconds = perf_counter() - started
        assert result["content"]
        return seconds * 1000

    return call


def main() -> None:
    """Measure one Being in this process."""
    folder, being_id = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else QUESTIONS
    laptop = open_laptop(folder)
    call, rng = caller(laptop, being_id), Random(1)
    first = call("search_memory", query=question(rng))
    search = [call("search_memory", query=question(rng)) for _ in range(rounds)]
    recall = [call("recall", user_message=question(rng)) for _ in range(rounds)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    laptop.close()
    json.dump(
        {
            "first": first,
            "search": median(search),
            "search p99": sorted(search)[int(len(search) * 0.99)],
            "recall": median(recall),
            "rss": peak,
        },
        sys.stdout,
    )


if __name__ == "__main__":
    calm_numpy()
    main()
