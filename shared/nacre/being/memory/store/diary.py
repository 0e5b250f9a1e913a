"""What a patrol's model writes into the diary: one paragraph a run, headed by the run's id."""

from collections.abc import Collection
from random import Random

from nacre.being.memory.model import keys
from nacre.being.memory.store.entries import entry_in
from nacre.being.memory.store.partitions import items_in
from nacre.being.memory.store.profile import Profile
from nacre.being.memory.store.targets import DIARY
from nacre.being.memory.store.think_notes import think_key
from nacre.core.clock import Clock
from nacre.ports.items.table import Range, Table

_HEAD = "patrol:"


def head_of(run_id: str) -> str:
    """Return the first line of a run's paragraph."""
    return _HEAD + run_id


def paragraph_of(run_id: str, text: str) -> str:
    """Return a run's paragraph; blank lines in it would make several of it."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join([head_of(run_id), *lines])


def without_runs(text: str, run_ids: Collection[str]) -> str:
    """Return a day's text without the paragraphs of these runs."""
    heads = {head_of(run_id) for run_id in run_ids}
    return "\n\n".join(
        paragraph for paragraph in text.split("\n\n") if paragraph.split("\n", 1)[0] not in heads
    )


def erase_written(
    table: Table, being_id: str, run_ids: Collection[str], *, clock: Clock, rng: Random
) -> None:
    """Erase what models wrote about scenes that runs took in, and what stood out to them.

    Nobody can tell which words came from which scene, so all of it goes.
    """
    table.delete(think_key(being_id))
    if not run_ids:
        return
    profile = Profile(table, clock=clock, rng=rng)
    heads = tuple(head_of(run_id) for run_id in run_ids)
    for item in items_in(table, keys.home(being_id), Range(prefix=DIARY.prefix)):
        day = profile.with_text(being_id, DIARY, entry_in(item))
        if any(head in (day.text or "") for head in heads):
            profile.revise(being_id, DIARY, day.key, lambda text: without_runs(text, run_ids))
