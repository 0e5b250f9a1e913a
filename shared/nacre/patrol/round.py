"""One round of the patrol: what all its steps work with."""

from collections.abc import Callable
from dataclasses import dataclass

from nacre.memory.indexing import Indexing
from nacre.memory.memory import Memory
from nacre.patrol.ledger import Ledger
from nacre.patrol.runs import Run
from nacre.patrol.thinking import Thinking
from nacre.ports.queue import Queue
from nacre.ports.table import Table


@dataclass(frozen=True, slots=True)
class Round:
    """A Being's run at work."""

    being_id: str
    run: Run  # as it was when this worker took it up
    ledger: Ledger
    table: Table
    queue: Queue
    memory: Memory
    indexing: Indexing
    thinking: Thinking | None
    keep: Callable[[], None]
