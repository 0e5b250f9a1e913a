"""Texts of a patrol's model: one paragraph of the diary for each run, and its think notes."""

from collections.abc import Collection
from random import Random

from nacre.being.memory.model import keys
from nacre.being.memory.store.entries import Entries
from nacre.being.memory.store.entry_items import Entry
from nacre.being.memory.store.partitions import items_in
from nacre.being.memory.store.targets import DIARY
from nacre.core.clock import Clock
from nacre.ports.items.schema import ItemSchema
from nacre.ports.items.table import Key, Range, Table

THINK = ItemSchema("think notes", 1)
_HEAD = "patrol:"


def head_of(run_id: str) -> str:
    """Return the first line of a run's paragraph."""
    return _HEAD + run_id


def paragraph_of(run_id: str, text: str) -> str:
    """Return the paragraph of a run, without blank lines, which would split it."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join([head_of(run_id), *lines])


def without_runs(text: str, run_ids: Collection[str]) -> str:
    """Return the text of a day without the paragraphs of these runs."""
    heads = {head_of(run_id) for run_id in run_ids}
    return "\n\n".join(
        paragraph for paragraph in text.split("\n\n") if paragraph.split("\n", 1)[0] not in heads
    )


def think_key(being_id: str) -> Key:
    """Return the key of the think notes."""
    return Key(keys.home(being_id), "THINK")


def think_notes(table: Table, being_id: str) -> tuple[str, ...]:
    """Return the think notes of the last patrol that had a model."""
    item = table.get(think_key(being_id))
    notes = [] if item is None else THINK.read(item).get("notes")
    return tuple(map(str, notes)) if isinstance(notes, list) else ()


def erase_written(
    table: Table, being_id: str, run_ids: Collection[str], *, clock: Clock, rng: Random
) -> None:
    """Erase the think notes, and the paragraphs of these runs from the diary.

    A model writes about all scenes of a run at once, so its whole text has to go.
    """
    table.delete(think_key(being_id))
    if not run_ids:
        return
    entries = Entries(table, clock=clock, rng=rng)
    heads = tuple(head_of(run_id) for run_id in run_ids)
    for item in items_in(table, keys.home(being_id), Range(prefix=DIARY.prefix)):
        day = entries.with_text(being_id, DIARY, Entry.from_item(item))
        if any(head in (day.text or "") for head in heads):
            entries.revise(being_id, DIARY, day.key, lambda text: without_runs(text, run_ids))
