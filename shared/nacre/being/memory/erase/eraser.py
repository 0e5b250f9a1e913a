"""The eraser for commands and pages: it keeps patrols away and cleans the index and the file."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random

from nacre.being.memory.erase.erase_memories import MemoryEraser
from nacre.being.memory.erase.erase_texts import TextEraser
from nacre.being.memory.erase.receipt import EraseReceipt, combined_receipt
from nacre.being.memory.index.jobs import IndexWork
from nacre.being.memory.index.maintenance import Progress
from nacre.being.memory.model import keys
from nacre.being.memory.model.types import Message
from nacre.being.memory.store.kept_questions import erase_questions
from nacre.being.memory.store.targets import Target
from nacre.core.clock import Clock
from nacre.core.errors import LeaseHeldError, NotFoundError
from nacre.jobs.lease import Lease, Leases
from nacre.ports.items.table import Key, Table
from nacre.ports.memory_changes import MemoryChanges
from nacre.ports.operation.residue import Residue

_PATROL = "LOCK#PATROL"
_WAIT_SECONDS = 10.0  # for a running patrol
_POLL_SECONDS = 0.1


class Eraser:
    """Erases data of a Being for the commands and the owner's pages.

    `results` deletes the stored results of a Being's tools, which may have any of its texts.
    `changes` is the record of changes of memories, if there is one.
    """

    def __init__(
        self,
        table: Table,
        leases: Leases,
        index: Callable[[], IndexWork],
        residue: Callable[[], Residue],
        results: Callable[[str], None],
        *,
        clock: Clock,
        rng: Random,
        changes: MemoryChanges | None = None,
    ) -> None:
        self._table = table
        self._leases = leases
        self._index = index
        self._residue = residue
        self._results = results
        self.memories = MemoryEraser(table, clock=clock, rng=rng, changes=changes)
        self.texts = TextEraser(table)

    def node(self, being_id: str, node_id: str) -> EraseReceipt:
        """Erase a node with its scenes, and the nodes that it was merged from or into."""
        return self.erase(being_id, lambda: self.memories.node(being_id, node_id))

    def scene(self, being_id: str, scene_id: str) -> EraseReceipt:
        """Erase a scene, and a node that was made from nothing else."""
        return self.erase(being_id, lambda: self.memories.scene(being_id, scene_id))

    def entry(self, being_id: str, target: Target, key: str) -> EraseReceipt:
        """Erase an entry with its old versions."""
        return self.erase(being_id, lambda: self.texts.entry(being_id, target, key))

    def conversation(self, being_id: str, conversation_id: str) -> EraseReceipt:
        """Erase a captured conversation with the scenes that were found in nothing else."""
        return self.erase(
            being_id,
            lambda: self._with_scenes(
                being_id,
                self.texts.message_ids(being_id, conversation_id),
                lambda: self.texts.conversation(being_id, conversation_id),
            ),
        )

    def message(self, being_id: str, message: Message) -> EraseReceipt:
        """Erase a message with the scenes that were found in nothing else."""
        return self.erase(
            being_id,
            lambda: self._with_scenes(
                being_id,
                frozenset({message.message_id}),
                lambda: self.texts.message(being_id, message),
            ),
        )

    def _with_scenes(
        self, being_id: str, message_ids: frozenset[str], erase: Callable[[], EraseReceipt]
    ) -> EraseReceipt:
        receipts = []
        for scene_id in self.texts.scenes_only_from(being_id, message_ids):
            with suppress(NotFoundError):  # it was erased together with one before
                receipts.append(self.memories.scene(being_id, scene_id))
        return combined_receipt([*receipts, erase()])

    def erase(
        self,
        being_id: str,
        erase: Callable[[], EraseReceipt],
        progress: Progress = lambda _done, _total: None,
    ) -> EraseReceipt:
        """Call `erase` and clean up after it; raises LeaseHeldError if a patrol keeps running."""
        with self.without_patrols(being_id):
            receipt = erase()
            # Once more, for a question that was asked while its words were being erased.
            erase_questions(self._table, being_id, receipt.ids, receipt.texts)
            self._results(being_id)
            if receipt.counts.keys() & {"node", "scene"}:
                self._index().run(being_id, "repair", progress)
        self._residue().settle()
        return receipt

    @contextmanager
    def without_patrols(self, being_id: str) -> Iterator[None]:
        """Keep patrols from running, because they might write what is being erased."""
        lease = self._patrol_lease(Key(keys.home(being_id), _PATROL))
        try:
            yield
        finally:
            self._leases.give_back(lease)

    def _patrol_lease(self, key: Key) -> Lease:
        """Take the lease of patrols; wait a moment if one is running."""
        end = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                return self._leases.take(key)
            except LeaseHeldError:
                if time.monotonic() >= end:
                    raise
            time.sleep(_POLL_SECONDS)
