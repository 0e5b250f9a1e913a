"""Runs of the patrol: what each was given, how far it is, and what came of it.

A run is one item. Whatever a step does is counted there in the transaction that does it, so
that a run that was stopped anywhere and resumed counts nothing twice and forgets nothing.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import count_in
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item, Key, Range, Table

RUN = ItemSchema("patrol run", 1)

RunState = Literal["open", "blocked", "done"]
ReceiptState = Literal["open", "blocked", "done", "dry"]

RUN_SEQ = "run_seq"  # of the Being's item: how many runs there have been
OPEN_RUN = "open_run"  # of the Being's item: the number of the run that is not done

COUNT = "n:"  # before a count's name
REASON = "why:"  # before a reason; the value is how often it was met
INPUT_TOKENS, OUTPUT_TOKENS = "input_tokens", "output_tokens"


def run_id_of(being_id: str, seq: int) -> str:
    """Return the id of a Being's run of this number."""
    return str(uuid.uuid5(uuid.UUID(being_id), f"run:{seq}"))


def runs(being_id: str) -> str:
    """Return the partition of runs and their plans."""
    return f"{keys.home(being_id)}#R"


def run_key(being_id: str, seq: int) -> Key:
    """Return where a run is; what belongs to it begins with the same sort key and a `#`."""
    return Key(runs(being_id), f"{seq:08}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a run did, and why it did not do what one might expect."""

    run_id: str
    seq: int
    trigger: str
    state: ReceiptState
    started: str  # the moment that the run takes for now, from its first step to its last
    clock: int
    model: str | None
    counts: Mapping[str, int]
    reasons: tuple[str, ...]
    tokens: Mapping[str, int]
    marker_in: str | None
    marker_out: str | None
    backlog: int
    step: int = 0

    def to_plain(self) -> dict[str, Any]:
        """Return the receipt as JSON has it."""
        return {
            "run_id": self.run_id,
            "seq": self.seq,
            "trigger": self.trigger,
            "state": self.state,
            "started": self.started,
            "clock": self.clock,
            "model": self.model,
            "counts": dict(self.counts),
            "reasons": list(self.reasons),
            "tokens": dict(self.tokens),
            "marker_in": self.marker_in,
            "marker_out": self.marker_out,
            "backlog": self.backlog,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as it is stored; all but state, step and what it counts is frozen when it begins."""

    run_id: str
    seq: int
    trigger: str
    state: RunState
    step: int  # the last step whose decisions are stored; see `patrol.STEPS`
    now: str
    clock: int  # the Being's clock of active days, with today
    model: str | None
    config: str  # a hash of what the run goes by
    work_seq: int  # how often work was announced before the run began
    marker_in: str | None = None
    marker_out: str | None = None
    backlog: int = 0
    blocked: str | None = None  # why it cannot go on now
    counts: Mapping[str, int]
    reasons: tuple[str, ...]

    @property
    def today(self) -> str:
        """Return the day of the run, in UTC."""
        return self.now[:10]

    @property
    def receipt(self) -> Receipt:
        """Return what the run has done so far."""
        counts = dict(self.counts)
        tokens = {
            "input": counts.pop(INPUT_TOKENS, 0),
            "output": counts.pop(OUTPUT_TOKENS, 0),
        }
        return Receipt(
            run_id=self.run_id,
            seq=self.seq,
            trigger=self.trigger,
            state=self.state,
            started=self.now,
            clock=self.clock,
            model=self.model,
            counts=counts,
            reasons=self.reasons if self.blocked is None else (self.blocked, *self.reasons),
            tokens=tokens,
            marker_in=self.marker_in,
            marker_out=self.marker_out,
            backlog=self.backlog,
            step=self.step,
        )

    def to_item(self, being_id: str) -> Item:
        """Return the item that holds the run as it begins."""
        place = run_key(being_id, self.seq)
        item: Item = {"pk": place.pk, "sk": place.sk}
        item |= {name: getattr(self, name) for name in _FIELDS}
        item |= {COUNT + name: count for name, count in self.counts.items()}
        return RUN.stamp({name: value for name, value in item.items() if value is not None})

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the run in an item."""
        item = RUN.read(item)
        found: dict[str, Any] = {name: item[name] for name in _FIELDS if name in item}
        counts = {
            name[len(COUNT) :]: value
            for name, value in item.items()
            if name.startswith(COUNT) and isinstance(value, int)
        }
        reasons = [
            name[len(REASON) :] + ("" if times == 1 else f" ({times!s} times)")
            for name, times in item.items()
            if name.startswith(REASON) and isinstance(times, int)
        ]
        found.setdefault("model", None)
        return cls(**found, counts=dict(sorted(counts.items())), reasons=tuple(sorted(reasons)))


_FIELDS = (
    "run_id", "seq", "trigger", "state", "step", "now", "clock", "model", "config", "work_seq",
    "marker_in", "marker_out", "backlog", "blocked",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunPage:
    """Some runs, newest first; `next` is where more begin."""

    runs: tuple[Run, ...]
    next: str | None


class Runs:
    """Reads the runs of Beings."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def at(self, being_id: str, seq: int) -> Run | None:
        """Return the run of this number, or None."""
        item = self._table.get(run_key(being_id, seq))
        return None if item is None else Run.from_item(item)

    def get(self, being_id: str, run_id: str) -> Run | None:
        """Return the run of this id, or None."""
        for seq in range(self._last(being_id), 0, -1):
            if run_id_of(being_id, seq) == run_id:
                return self.at(being_id, seq)
        return None

    def latest(self, being_id: str) -> Run | None:
        """Return the newest run, done or not."""
        last = self._last(being_id)
        return self.at(being_id, last) if last else None

    def open(self, being_id: str) -> Run | None:
        """Return the run that is not done, or None."""
        item = self._table.get(keys.meta(being_id))
        seq = None if item is None else item.get(OPEN_RUN)
        return self.at(being_id, seq) if isinstance(seq, int) else None

    def page(self, being_id: str, *, limit: int = 20, start: str | None = None) -> RunPage:
        """Return runs, the newest first; `start` is the `next` of the page before."""
        last = int(start) if start else self._last(being_id)
        wanted = [run_key(being_id, seq) for seq in range(last, max(0, last - limit), -1)]
        found = self._table.get_many(wanted)
        page = tuple(Run.from_item(found[key]) for key in wanted if key in found)
        return RunPage(page, str(last - limit) if last > limit else None)

    def plan(self, being_id: str, seq: int, step: str) -> list[Any] | None:
        """Return what a run has decided in a step, entry by entry; None before it has."""
        place = run_key(being_id, seq)
        found: list[Any] | None = None
        parts = Range(prefix=f"{place.sk}#PLAN#{step}#")
        for item in every_item(self._table, place.pk, keys=parts):
            entries = item["entries"]
            assert isinstance(entries, list)
            found = [*(found or []), *entries]
        return found

    def _last(self, being_id: str) -> int:
        item = self._table.get(keys.meta(being_id))
        return 0 if item is None else count_in(item, RUN_SEQ)
