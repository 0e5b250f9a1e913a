"""Erasing a whole Being: its tokens, its index, every partition, its letters, its name.

The first steps stop further writes: tokens end, and without its item nothing can be written for
the Being. Its name is erased last, so that an interrupted command can be repeated.
"""

from collections import Counter
from collections.abc import Callable

from nacre.access.beings import Being, Beings
from nacre.access.tokens.store import TokenStore
from nacre.being.memory.erase.receipt import EraseReceipt
from nacre.being.memory.index.jobs import IndexWork
from nacre.being.memory.model import keys
from nacre.being.memory.store.letters import Letters
from nacre.being.memory.store.partitions import delete_all, items_in
from nacre.being.memory.transfer.exporter import Exporter
from nacre.being.tasks.task import partition as task_partition
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.entry.noted_results import received_partition
from nacre.ports.blobs import Blobs
from nacre.ports.items.table import Table
from nacre.ports.media.media_links import MEDIA_FOLDER
from nacre.ports.operation.residue import Residue

_SAMPLE = 200  # texts that a proof searches for, besides the id that is in every item
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Stores:
    """All stores that may hold data of a Being."""

    table: Table
    beings: Beings
    tokens: TokenStore
    index: IndexWork
    blobs: Blobs
    residue: Residue
    letters: Letters


def erase_being(being: Being, stores: Stores, progress: Progress) -> EraseReceipt:
    """Erase a Being everywhere; raises UnavailableError if a store cannot confirm it."""
    being_id, table = being.being_id, stores.table
    counts: Counter[str] = Counter()
    texts: dict[str, None] = {}
    if table.get(keys.meta(being_id)) is not None:
        for record in Exporter(table).records(being_id):
            counts[record.kind] += 1
            for name in ("action", "text", "content"):
                if len(texts) < _SAMPLE and isinstance(text := record.value.get(name), str):
                    texts[text] = None
    counts["token"] = stores.tokens.erase(being_id)
    stores.beings.close(being)
    # From now on a recall that finds no announcement of recalls sees that the Being is gone.
    table.delete(keys.uncounted(being_id))
    stores.residue.drop_jobs(being_id)
    stores.index.run(being_id, "erase", progress)
    _erase_delivered(being, stores)
    stores.blobs.delete_all(being_id)
    stores.blobs.delete_all(f"{MEDIA_FOLDER}/{being_id}")
    home = keys.home(being_id)
    months = [str(item["sk"]) for item in items_in(table, keys.months(being_id))]
    for partition in (
        *(keys.history(being_id, month) for month in months),
        *(keys.months(being_id), keys.markers(being_id), keys.bodies(being_id)),
        *(keys.scenes(being_id), keys.nodes(being_id), keys.clusters(being_id)),
        *(keys.sessions(being_id), keys.session_turns(being_id)),
        *(keys.captured(being_id), keys.conversations(being_id)),
        *(f"{home}#R", keys.known_events(being_id), keys.vectors(being_id), keys.marks(being_id)),
        *(keys.evidence(being_id), keys.recalls(being_id), keys.questions(being_id)),
        *(task_partition(being_id), received_partition(being_id), home),
    ):
        delete_all(table, partition)
    stores.residue.drop_jobs(being_id)  # the index work itself was one
    if stores.tokens.of_being(being_id):
        raise UnavailableError("tokens are still listed; run the command again in a minute")
    stores.beings.remove(being)
    return EraseReceipt(+counts, (being_id,), tuple(texts))


def _erase_delivered(being: Being, stores: Stores) -> None:
    """Delete the letters that the Being sent from the inboxes of its owner's other Beings."""
    others = {
        other.name: other.being_id
        for other in stores.beings.of_owner(being.owner)
        if other.being_id != being.being_id
    }
    for letter in stores.letters.sent(being.being_id):
        recipient = others.get(letter.partner)
        if recipient is not None:
            stores.letters.delete(recipient, letter.letter_id)
