"""One Being that is asked twenty times a second, within what one partition of DynamoDB serves."""

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from infra.cost import HOT_RECALLS, PARTITION_READS, PARTITION_WRITES, Load, one_call
from tests.end_to_end.load import counting
from tests.end_to_end.load.metered import READS, Metered
from tests.scaffolding.aws_stack import Stack
from tests.scaffolding.dynamodb_http import serving, unpacked

SECONDS = 3
MEMORIES = 200


class Partitions(Metered):
    """A bill for each partition; a request to several is charged to each of them in full."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack)
        self.reads: defaultdict[str, float] = defaultdict(float)
        self.writes: defaultdict[str, float] = defaultdict(float)
        self._one_by_one = threading.Lock()

    def answer(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        service, _, operation = headers["x-amz-target"].partition(".")
        if not service.startswith("DynamoDB"):
            return super().answer(headers, body)
        with self._one_by_one:
            before = self._units()
            answer = super().answer(headers, body)
            units = self._units() - before
        counter = self.reads if operation in READS else self.writes
        for partition in set(_partitions(unpacked(json.loads(body)))):
            counter[partition] += units
        return answer

    def _units(self) -> float:
        return sum(asked.units for asked in self._bill.values())


def _partitions(asked: Any) -> Iterator[str]:
    """Yield the partition keys that a request names, those of indexes too."""
    if isinstance(asked, dict):
        for name, value in asked.items():
            if isinstance(value, dict) and isinstance(value.get("S"), str):
                if name == "pk" or (name.startswith(":") and value["S"].startswith("B#")):
                    yield value["S"]
            else:
                yield from _partitions(value)
    elif isinstance(asked, list):
        for each in asked:
            yield from _partitions(each)


@contextmanager
def by_partition(stack: Stack) -> Iterator[Partitions]:
    with serving(Partitions(stack)) as front:
        yield front


def test_the_sum_of_a_recall_fits_twenty_times_into_the_limits_of_a_partition() -> None:
    """Even if all of its requests went to one partition, with Qdrant; they go to several."""
    recall = one_call("recall", Load(searches="qdrant", paused=0, misses=0))

    assert HOT_RECALLS * recall.read_units <= PARTITION_READS
    assert HOT_RECALLS * recall.write_units <= PARTITION_WRITES


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_twenty_recalls_a_second_stay_within_the_limits_of_each_partition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "metered", by_partition)
    with counting.functions("nacre-hot") as stack:
        stack.note(40)
        stack.work()
        stack.multiply_vectors(MEMORIES // 40)
        front: Any = stack.front
        front.reads.clear()
        front.writes.clear()
        for _ in range(SECONDS * HOT_RECALLS):
            stack.call("recall")
        reads, writes = front.reads, front.writes

    assert reads, "nothing was counted"
    for kind, units in (("read", reads), ("write", writes)):
        print(kind, {name: round(amount / SECONDS) for name, amount in units.items()})
    assert max(reads.values()) / SECONDS <= PARTITION_READS
    assert max(writes.values()) / SECONDS <= PARTITION_WRITES
