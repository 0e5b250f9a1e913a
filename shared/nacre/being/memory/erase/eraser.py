"""Erasing in full: no patrol writes meanwhile, the index forgets too, and so does the file."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

from nacre.being.memory.erase.erase_memories import Erasing
from nacre.being.memory.erase.erase_texts import WordErasing
from nacre.being.memory.erase.receipt import Erased
from nacre.being.memory.index.jobs import IndexWork
from nacre.being.memory.index.maintenance import Progress
from nacre.being.memory.model import keys
from nacre.being.memory.store.targets import Target
from nacre.core.clock import Clock
from nacre.core.errors import LeaseHeldError
from nacre.jobs.lease import Lease, Leases
from nacre.ports.items.table import Key, Table
from nacre.ports.residue import Residue

_PATROL = "LOCK#PATROL"
_PATIENCE_SECONDS = 10.0  # for a patrol that runs now
_GLANCE_SECONDS = 0.1


class Eraser:
    """Erases what a Being keeps, for whoever asks: the commands, or the owner's pages."""

    def __init__(
        self,
        table: Table,
        leases: Leases,
        index: Callable[[], IndexWork],
        residue: Callable[[], Residue],
        *,
        clock: Clock,
        rng: Random,
    ) -> None:
        self._leases = leases
        self._index = index
        self._residue = residue
        self.memories = Erasing(table, clock=clock, rng=rng)
        self.words = WordErasing(table)

    def node(self, being_id: str, node_id: str) -> Erased:
        """Erase a memory, its scenes, and what it was merged from or into."""
        return self.erase(being_id, lambda: self.memories.node(being_id, node_id))

    def scene(self, being_id: str, scene_id: str) -> Erased:
        """Erase a scene; a memory that was made of nothing else goes with it."""
        return self.erase(being_id, lambda: self.memories.scene(being_id, scene_id))

    def entry(self, being_id: str, target: Target, key: str) -> Erased:
        """Erase an entry with its old versions."""
        return self.erase(being_id, lambda: self.words.entry(being_id, target, key))

    def erase(
        self,
        being_id: str,
        act: Callable[[], Erased],
        progress: Progress = lambda _done, _total: None,
    ) -> Erased:
        """Do what erases, and what has to follow; raises LeaseHeldError while a patrol runs."""
        with self.undisturbed(being_id):
            erased = act()
            if erased.counts.keys() & {"node", "scene"}:
                self._index().run(being_id, "repair", progress)
        self._residue().settle()
        return erased

    @contextmanager
    def undisturbed(self, being_id: str) -> Iterator[None]:
        """Keep patrols away, which might write down what is being erased."""
        lease = self._taken(Key(keys.home(being_id), _PATROL))
        try:
            yield
        finally:
            self._leases.give_back(lease)

    def _taken(self, key: Key) -> Lease:
        """Take a lease, after a patrol that is just running: most take a moment."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self._leases.take(key)
            except LeaseHeldError:
                if time.monotonic() >= end:
                    raise
            time.sleep(_GLANCE_SECONDS)
