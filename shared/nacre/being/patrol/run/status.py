"""The status of a Being's patrols, and receipts in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nacre.being.memory.model.counters import (
    CLOCK,
    PENDING_MESSAGES,
    PENDING_SCENES,
    QUEUED_AT,
    count_in,
    counters,
)
from nacre.being.patrol.run.runs import Run, Runs
from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.items.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class PatrolStatus:
    """The scenes and messages that wait, the unfinished run, and the latest one."""

    scenes: int
    messages: int
    queued_at: str | None
    clock: int
    open: Run | None
    last: Run | None

    def to_plain(self) -> dict[str, Any]:
        """Return the status as JSON values."""
        return {
            "pending_scenes": self.scenes,
            "pending_messages": self.messages,
            "queued_at": self.queued_at,
            "clock": self.clock,
            "open": None if self.open is None else self.open.receipt.to_plain(),
            "last": None if self.last is None else self.last.receipt.to_plain(),
        }


def patrol_status(table: Table, being_id: str) -> PatrolStatus:
    """Return the status; raises NotFoundError if there is no such Being."""
    meta = counters(table, being_id)
    queued_at = meta.get(QUEUED_AT)
    runs = Runs(table)
    return PatrolStatus(
        scenes=count_in(meta, PENDING_SCENES),
        messages=count_in(meta, PENDING_MESSAGES),
        queued_at=queued_at if isinstance(queued_at, str) else None,
        clock=count_in(meta, CLOCK),
        open=runs.open(being_id),
        last=runs.latest(being_id),
    )


# In the order of the steps. A count that is not listed here is shown by its name.
_WORDS = {
    "messages_read": ("message read", "messages read"),
    "scenes_created": ("scene found in messages", "scenes found in messages"),
    "scenes_taken": ("scene taken", "scenes taken"),
    "nodes_created": ("new memory", "new memories"),
    "evidence_added": ("scene added to a known memory", "scenes added to known memories"),
    "invalid": ("scene refused", "scenes refused"),
    "recalls": ("recall counted", "recalls counted"),
    "refreshed": ("memory strengthened", "memories strengthened"),
    "dying": ("memory fading", "memories fading"),
    "dead": ("memory forgotten", "memories forgotten"),
    "merged": ("memory merged", "memories merged"),
    "superseded": ("memory superseded", "memories superseded"),
    "revived": ("memory brought back", "memories brought back"),
    "split": ("cluster split", "clusters split"),
    "moved": ("memory moved", "memories moved"),
    "retired": ("cluster given up", "clusters given up"),
    "renewed": ("cluster described anew", "clusters described anew"),
    "digests_llm": ("description by the model", "descriptions by the model"),
}


def counts_in_words(counts: Mapping[str, int]) -> list[str]:
    """Return the counts of a run in words."""
    names = [*_WORDS, *sorted(set(counts) - set(_WORDS))]
    return [_words(name, counts[name]) for name in names if counts.get(name)]


def receipt_lines(receipt: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a receipt, which is given as JSON values."""
    state = "not finished" if receipt["state"] == "open" else receipt["state"]
    if receipt["state"] == "dry":  # it has neither a number nor an id
        yield f"Dry run, {receipt['started']}: nothing was written"
    else:
        yield f"Run {receipt['seq']} ({receipt['trigger']}), {receipt['started']}: {state}"
        yield f"Run id: {receipt['run_id']}"
    lines: Sequence[str] = counts_in_words(receipt["counts"]) or ["nothing changed"]
    yield from (f"  {line}" for line in lines)
    if receipt["reasons"]:
        yield "Why not more:"
        yield from (f"  {reason}" for reason in receipt["reasons"])
    if receipt["model"]:
        tokens = receipt["tokens"]
        yield f"Model: {receipt['model']}, {tokens['input']} tokens in, {tokens['output']} out"
    if receipt["backlog"]:
        yield f"Left for the next run: {receipt['backlog']}"


def _words(name: str, count: int) -> str:
    singular, plural = _WORDS.get(name, (name.replace("_", " "),) * 2)
    return f"{count} {singular if count == 1 else plural}"
