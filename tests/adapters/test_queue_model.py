"""Any sequence of operations gives the same answers on SQLite, SQS and a list."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from nacre.adapters.aws.sqs_queue import SqsQueue
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.ports.queue import Depth, Message
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import Stack, aws_stack

_VISIBILITY = 5400  # the template's queue
_LONGEST = 43_200  # of all a message's pauses together, counted by moto from its sending

group = st.sampled_from("abc")
pause = st.sampled_from([0, 1, 600, _VISIBILITY])


@dataclass
class Entry:
    """A message of the model; `delivery` is the one whose receipt may still be good."""

    body: str
    group: str
    sent: float
    visible_at: float = 0
    receives: int = 0
    delivery: object = None


class Model:
    """The same contract on a list, written without looking at the stores."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.entries: list[Entry] = []
        self.dead = 0
        self._now = now
        self._repeats: dict[tuple[str, str], tuple[float, str]] = {}

    def first(self, group: str, dedupe_key: str) -> str | None:
        """Return the body that was sent under the same name within five minutes."""
        sent, body = self._repeats.get((group, dedupe_key), (float("-inf"), ""))
        return body if self._now() < sent + 300 else None

    def send(self, body: str, group: str, dedupe_key: str | None) -> None:
        if dedupe_key is not None:
            if self.first(group, dedupe_key) is not None:
                return
            self._repeats[group, dedupe_key] = (self._now(), body)
        self.entries.append(Entry(body, group, sent=self._now()))

    def receive(self, delivery: object) -> Entry | None:
        busy: set[str] = set()
        for entry in list(self.entries):
            if entry.group in busy:
                continue
            if entry.visible_at > self._now():
                busy.add(entry.group)
            elif entry.receives == 3:
                self.entries.remove(entry)
                self.dead += 1
            else:
                entry.receives += 1
                entry.visible_at = self._now() + _VISIBILITY
                entry.delivery = delivery
                return entry
        return None

    def of(self, delivery: object) -> Entry | None:
        """Return the message of a delivery whose receipt is good."""
        for entry in self.entries:
            if entry.delivery == delivery and entry.visible_at > self._now():
                return entry
        return None

    def depth(self) -> Depth:
        in_flight = sum(entry.visible_at > self._now() for entry in self.entries)
        return Depth(len(self.entries) - in_flight, in_flight, self.dead)


class Queues(RuleBasedStateMachine):
    """The same operations on all three."""

    clock: StillClock
    stack: Stack

    @initialize()
    def open(self) -> None:
        self.sqs = SqsQueue(
            self.stack.sqs,
            self.stack.ids["PatrolQueue"],
            dead_letter_url=self.stack.ids["PatrolDeadLetterQueue"],
        )
        self.database = SqliteDatabase(":memory:")
        self.sqlite = SqliteQueue(self.database, "q", now=self.clock, visibility=_VISIBILITY)
        self.model = Model(lambda: self.clock().timestamp())
        self.numbers = itertools.count(1)
        self.ids: dict[str, str] = {}
        self.taken: list[tuple[Message, Message]] = []  # the same delivery by SQLite and by SQS

    def teardown(self) -> None:
        if not hasattr(self, "database"):
            return
        self.database.close()
        self.clock.move(60)  # SQS empties a queue once a minute
        for name in ("PatrolQueue", "PatrolDeadLetterQueue"):
            self.stack.sqs.purge_queue(QueueUrl=self.stack.ids[name])

    @rule(seconds=st.sampled_from([1, 299, 300, 600, _VISIBILITY - 1, _VISIBILITY]))
    def time_passes(self, seconds: int) -> None:
        self.clock.move(seconds)

    @rule(group=group)
    def send(self, group: str) -> None:
        body = f"{group}{next(self.numbers)}"
        self.ids[body] = self.sqlite.send(body, group=group)
        self.sqs.send(body, group=group)
        self.model.send(body, group, None)

    @rule(group=group, dedupe_key=st.sampled_from("rs"))
    def send_with_a_repeat(self, group: str, dedupe_key: str) -> None:
        body = f"{group}{next(self.numbers)}{dedupe_key}"
        first = self.model.first(group, dedupe_key)
        self.ids[body] = self.sqlite.send(body, group=group, dedupe_key=dedupe_key)
        if first is not None:
            assert self.ids[body] == self.ids[first]
        # moto keeps an id only as long as its message, and for all groups; SQS is better.
        if first is None or any(entry.body == first for entry in self.model.entries):
            self.sqs.send(body, group=group, dedupe_key=f"{group}.{dedupe_key}")
        self.model.send(body, group, dedupe_key)

    @rule()
    def receive(self) -> None:
        expected = self.model.receive(delivery=len(self.taken))
        found, on_sqs = self.sqlite.receive(), self.sqs.receive()
        if expected is None:
            assert (found, on_sqs) == (None, None)
            return
        assert found is not None
        assert on_sqs is not None
        told = (expected.body, expected.group, expected.receives)
        for message in (found, on_sqs):
            assert (message.body, message.group, message.receives) == told
        assert found.id == self.ids[expected.body]
        self.taken.append((found, on_sqs))

    @rule(times=st.integers(2, 4))
    def fail(self, times: int) -> None:
        for _ in range(times):
            before = len(self.taken)
            self.receive()
            if len(self.taken) > before:
                self.postpone_delivery(before, 0)

    @precondition(lambda self: self.taken)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        number = self.draw_delivery(data)
        on_sqlite, on_sqs = self.taken[number]
        entry = self.model.of(number)
        self.sqlite.done(on_sqlite)
        if entry is not None:  # moto takes old receipts too; SQS FIFO does not
            self.model.entries.remove(entry)
            self.sqs.done(on_sqs)

    @precondition(lambda self: self.taken)
    @rule(data=st.data(), seconds=pause)
    def postpone(self, data: st.DataObject, seconds: int) -> None:
        self.postpone_delivery(self.draw_delivery(data), seconds)

    @invariant()
    def as_many_wait(self) -> None:
        if hasattr(self, "model"):
            assert self.sqlite.depth() == self.model.depth()
            assert self.sqs.depth() == self.model.depth()

    def draw_delivery(self, data: st.DataObject) -> int:
        # One of the last, whose receipts are mostly good.
        return len(self.taken) - 1 - data.draw(st.integers(0, min(3, len(self.taken) - 1)))

    def postpone_delivery(self, number: int, seconds: int) -> None:
        on_sqlite, on_sqs = self.taken[number]
        entry = self.model.of(number)
        end = self.clock().timestamp() + seconds
        if entry is not None and end - entry.sent >= _LONGEST:
            return
        self.sqlite.postpone(on_sqlite, seconds)
        if entry is not None:
            entry.visible_at = end
            self.sqs.postpone(on_sqs, seconds)


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    Queues.clock = StillClock()
    ticks = itertools.count()

    def seconds(_: object = None) -> float:
        # moto delivers what is due a moment later, never at the moment itself.
        return Queues.clock().timestamp() + next(ticks) / 1e6

    with aws_stack() as stack:
        monkeypatch.setattr("moto.sqs.models.unix_time", seconds)
        monkeypatch.setattr("moto.sqs.models.unix_time_millis", lambda: seconds() * 1000)
        Queues.stack = stack
        yield stack


def _run(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Queues,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            suppress_health_check=[HealthCheck.too_slow],
            phases=[Phase.generate],  # the steps are printed, and shrinking takes minutes
        ),
    )


@pytest.mark.usefixtures("stack")
def test_all_queues_give_the_same_answers() -> None:
    _run(examples=10, steps=25)


@pytest.mark.slow
@pytest.mark.usefixtures("stack")
def test_all_queues_give_the_same_answers_at_length() -> None:
    _run(examples=500, steps=60)
