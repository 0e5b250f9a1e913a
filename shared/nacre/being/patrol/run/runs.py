"""The stored runs of the patrol: the input, the progress and the outcome of each.

A run is one item. Each step counts its results there in the transaction that writes them, so a run
that was stopped anywhere and resumed counts everything once.
"""

import uuid
from collections.abc import Mapping
from typing import Any, Literal, Self

from nacre.being.memory.model import keys
from nacre.being.memory.model.counters import count_in
from nacre.core.lazy_dataclasses import asdict, dataclass
from nacre.ports.items.paging import every_item
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Item, Key, Range, Table

RUN = ItemSchema("patrol run", 1)

RunState = Literal["open", "blocked", "done"]
ReceiptState = Literal["open", "blocked", "done", "dry"]

# Attributes of the Being's item:
RUN_SEQ = "run_seq"  # the number of runs so far
OPEN_RUN = "open_run"  # the number of the unfinished run

# Prefixes of attributes of a run:
COUNT = "n:"  # a count
REASON = "why:"  # a reason; its value is the number of times
INPUT_TOKENS, OUTPUT_TOKENS = "input_tokens", "output_tokens"


def run_id_of(being_id: str, seq: int) -> str:
    """Return the id of a Being's run of this number."""
    return str(uuid.uuid5(uuid.UUID(being_id), f"run:{seq}"))


def runs(being_id: str) -> str:
    """Return the partition of runs and their plans."""
    return f"{keys.home(being_id)}#R"


def run_key(being_id: str, seq: int) -> Key:
    """Return the key of a run; the sort keys of its plans begin with this one and a `#`."""
    return Key(runs(being_id), f"{seq:08}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The results of a run, and the reasons why it did not do more."""

    run_id: str
    seq: int
    trigger: str
    state: ReceiptState
    started: str  # the time that all steps of the run use as the present
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
        """Return the receipt as JSON values."""
        values = asdict(self)
        del values["step"]
        return {**values, "reasons": list(self.reasons)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as it is stored; only its state, its step and its counts change after the start."""

    run_id: str
    seq: int
    trigger: str
    state: RunState
    step: int  # the last step whose decisions are stored; see `patrol.STEPS`
    now: str
    clock: int  # the Being's clock of active days, with today
    model: str | None
    config: str  # a hash of the limits that the run depends on
    work_seq: int  # the counter of announced work when the run began
    marker_in: str | None = None
    marker_out: str | None = None
    backlog: int = 0
    blocked: str | None = None  # the reason why it cannot continue now
    counts: Mapping[str, int]
    reasons: tuple[str, ...]

    @property
    def today(self) -> str:
        """The day of the run, in UTC."""
        return self.now[:10]

    @property
    def receipt(self) -> Receipt:
        """The results of the run so far."""
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
        """Return the item of a run that begins."""
        item: Item = run_key(being_id, self.seq).attributes()
        item |= {name: getattr(self, name) for name in _FIELDS}
        item |= {COUNT + name: count for name, count in self.counts.items()}
        return RUN.stamp({name: value for name, value in item.items() if value is not None})

    @classmethod
    def from_item(cls, item: Item) -> Self:
        """Return the run in an item."""
        item = RUN.read(item)
        fields: dict[str, Any] = {name: item[name] for name in _FIELDS if name in item}
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
        fields.setdefault("model", None)
        return cls(**fields, counts=dict(sorted(counts.items())), reasons=tuple(sorted(reasons)))


_FIELDS = (
    "run_id", "seq", "trigger", "state", "step", "now", "clock", "model", "config", "work_seq",
    "marker_in", "marker_out", "backlog", "blocked",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunPage:
    """Some runs, newest first; `next` is the start of the next page."""

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
        run_keys = [run_key(being_id, seq) for seq in range(last, max(0, last - limit), -1)]
        items = self._table.get_many(run_keys)
        page = tuple(Run.from_item(items[key]) for key in run_keys if key in items)
        return RunPage(page, str(last - limit) if last > limit else None)

    def plan(self, being_id: str, seq: int, step: str) -> list[Any] | None:
        """Return the entries of a stored plan; None before it is stored."""
        place = run_key(being_id, seq)
        plan: list[Any] | None = None
        parts = Range(prefix=f"{place.sk}#PLAN#{step}#")
        for item in every_item(self._table, place.pk, keys=parts):
            entries = item["entries"]
            assert isinstance(entries, list)
            plan = [*(plan or []), *entries]
        return plan

    def _last(self, being_id: str) -> int:
        item = self._table.get(keys.meta(being_id))
        return 0 if item is None else count_in(item, RUN_SEQ)
