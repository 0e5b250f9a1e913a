"""A memory costs the same to recall, to tell again and to patrol, however often it was told."""

import json
from dataclasses import dataclass, replace
from itertools import count

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Node
from nacre.ports.items.paging import every_item
from tests.end_to_end.load.counting import Functions, functions
from tests.end_to_end.load.metered import READS, Bill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

TOLD = "Ann walks the dog in the park by the old mill"
DAY = "2026-07-01"
TELLINGS = 16  # as many as move into a further item at once
TIMES = (1, 100, 4_480)  # the last one is nearly full
MORE = 6  # units: scenes in the item of the memory, and its share of what moves


@dataclass(frozen=True, slots=True)
class Units:
    """Read and write units."""

    reads: float
    writes: float


def units(*bills: Bill) -> Units:
    """Return the mean of bills."""
    asked = [entry for bill in bills for entry in bill.items()]
    reads = sum(of.units for name, of in asked if name in READS)
    writes = sum(of.units for name, of in asked if name not in READS)
    return Units(round(reads / len(bills), 1), round(writes / len(bills), 1))


class Habit:
    """A Being whose only memory was told so often."""

    def __init__(self, stack: Functions, times: int) -> None:
        self._stack = stack
        self._jobs = count()
        self._table = DynamoTable(stack.stack.dynamodb, stack.settings.data_table)
        self.tell()
        node = self.node
        told = tuple(f"01JZ{number:022}" for number in range(times - 1))
        # As a version wrote it that kept all of its scenes in the item of the memory.
        self._table.put(replace(node, evidence=(*told, *node.evidence)).to_item(stack.being_id))

    @property
    def node(self) -> Node:
        [item] = every_item(self._table, keys.nodes(self._stack.being_id))
        return Node.from_item(item)

    def recall(self) -> Bill:
        self._stack._tool("recall", {"user_message": "Where does Ann walk the dog?"})
        return self._stack.front.bill()

    def look(self) -> Bill:
        self._stack._tool("recall_memory", {"node_id": self.node.node_id})
        return self._stack.front.bill()

    def tell(self) -> tuple[Bill, Bill]:
        """Tell it once more; return the bills of the note and of the patrol."""
        scene = {"action": TOLD, "actors": ["Ann"], "when": [DAY]}
        self._stack._tool("update_notes", {"scenes": [scene]})
        return self._stack.front.bill(), self.patrol()

    def patrol(self) -> Bill:
        """Let a patrol do what waits."""
        job = {"kind": "patrol", "being_id": self._stack.being_id, "refs": {"always": "yes"}}
        self._stack.stack.sqs.send_message(
            QueueUrl=self._stack.settings.queue_url,
            MessageBody=json.dumps(job),
            MessageGroupId=self._stack.being_id,
            MessageDeduplicationId=str(next(self._jobs)),
        )
        return self._stack.work()


def counted(times: int) -> dict[str, Units]:
    """Return the units of each call about a memory that was told so often."""
    with functions(f"nacre-habit-{times}") as stack:
        habit = Habit(stack, times)
        moving = units(habit.tell()[1])
        habit.recall()
        recalls = [habit.recall() for _ in range(5)]
        patrol = habit.patrol()
        looks = [habit.look() for _ in range(3)]
        told = [habit.tell() for _ in range(TELLINGS)]
        return {
            "recall": units(*recalls),
            "recall_memory": units(*looks),
            "update_notes": units(*(note for note, _ in told)),
            "the patrol of a telling": units(*(patrol for _, patrol in told)),
            "the patrol of a recall": units(patrol),
            "the first telling after the update": moving,
        }


def test_a_memory_costs_the_same_however_often_it_was_told() -> None:
    once, often, most = (counted(times) for times in TIMES)

    for name in once:
        print(name, once[name], often[name], most[name])
    for name in ("recall", "update_notes", "the patrol of a telling", "the patrol of a recall"):
        assert most[name].reads <= once[name].reads + MORE, name
        assert most[name].writes <= once[name].writes + MORE, name
    shown = "recall_memory"  # shows up to 20 scenes
    assert most[shown].reads <= often[shown].reads + MORE
