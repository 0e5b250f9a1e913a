"""The patrol: takes what was noted, makes memories of it, and tends those that are there."""

from collections.abc import Callable

from nacre.clock import Clock
from nacre.errors import UnavailableError
from nacre.jobs.lease import Lease
from nacre.memory.indexing import Indexing
from nacre.memory.memory import Memory
from nacre.memory.model import moment
from nacre.patrol import consolidating, splitting, tidying
from nacre.patrol.assigning import assign
from nacre.patrol.claim import claim, config_hash
from nacre.patrol.consolidating import considered, consolidate
from nacre.patrol.extracting import extract
from nacre.patrol.finishing import block, finish
from nacre.patrol.flagging import flag
from nacre.patrol.inputs import scenes_of
from nacre.patrol.journal import write_journal
from nacre.patrol.ledger import Ledger
from nacre.patrol.measuring import measure
from nacre.patrol.rehearsing import rehearse
from nacre.patrol.renewing import renew
from nacre.patrol.reviving import revive
from nacre.patrol.round import Round
from nacre.patrol.runs import Receipt, Run, Runs
from nacre.patrol.splitting import split
from nacre.patrol.thinking import Thinking
from nacre.patrol.ticking import tick
from nacre.patrol.tidying import tidy
from nacre.patrol.undoing import UndoReport, undo
from nacre.ports.queue import Queue
from nacre.ports.table import Table

Step = Callable[[Round], None]


def _assign(work: Round) -> None:
    scenes = scenes_of(work)
    measure(work, scenes)
    assign(work, scenes)


def _tidy(work: Round) -> None:
    tidy(work)
    renew(work, considered(work))


STEPS: tuple[tuple[int, str, Step], ...] = (
    (0, "extract", extract),
    (1, "assign", _assign),
    (2, "clock", tick),
    (3, "flag", flag),
    (consolidating.STEP, "consolidate", consolidate),
    (5, "revive", revive),
    (splitting.STEP, "split", split),
    (tidying.STEP, "tidy", _tidy),
)
"""The steps in their order, each with its number.

`Run.step` is the last whose decisions are stored: a run that is resumed begins with it, so that
nothing before it is decided anew on what came after.
"""


def _silently(_step: str) -> None:
    return


class Patrol:
    """Runs patrols. Whoever calls holds the lease `PATROL` of the Being and hands it in."""

    def __init__(
        self, table: Table, queue: Queue, memory: Memory, indexing: Indexing, *, clock: Clock
    ) -> None:
        self._table = table
        self._queue = queue
        self._memory = memory
        self._indexing = indexing
        self._clock = clock
        self.runs = Runs(table)

    def run(
        self,
        being_id: str,
        *,
        trigger: str,
        keep: Callable[[], None],
        thinking: Thinking | None = None,
        lease: Lease | None = None,
        told: Callable[[str], None] = _silently,
    ) -> Receipt:
        """Do a run to its end, the unfinished one if there is one, and return its receipt.

        `keep` is called between steps, `told` with the name of each step. A run that cannot go
        on because something does not answer ends `blocked`: its scenes wait, and the next call
        resumes it. Raises LeaseLostError when another worker has taken over.
        """
        run = claim(
            self._table,
            being_id,
            trigger=trigger,
            now=moment(self._clock()),
            model=None if thinking is None else thinking.model,
            lease=lease,
        )
        work = self._round(being_id, run, lease, None if run.model is None else thinking, keep)
        closed = None
        try:
            told("claim")
            work.telling.catch_up()
            for number, name, step in STEPS:
                if number >= run.step:
                    told(name)
                    step(work)
                    keep()
            told("finish")
            closed = finish(work, write_journal(work))
        except UnavailableError as error:
            block(work, str(error))
        try:
            stored = self.runs.at(being_id, run.seq)
        except UnavailableError:
            # To fail now would have the caller ask for another run of what is done.
            if closed is None:
                raise
            stored = closed
        return (stored or run).receipt

    def dry_run(self, being_id: str, thinking: Thinking | None = None) -> Receipt:
        """Return what a run would do now; nothing is written but what a model costs.

        Raises UnavailableError when something does not answer.
        """
        run = Run(
            run_id="",
            seq=0,
            trigger="dry",
            state="open",
            step=0,
            now=moment(self._clock()),
            clock=0,
            model=None if thinking is None else thinking.model,
            config=config_hash(),
            work_seq=0,
            counts={},
            reasons=(),
        )
        return rehearse(self._round(being_id, run, None, thinking, lambda: None))

    def undo(self, being_id: str, run_id: str) -> UndoReport:
        """Take back what a run has merged and superseded.

        Raises NotFoundError for an unknown run, InvalidInputError for one that is not over.
        """
        return undo(self._table, self._memory, being_id, run_id)

    def _round(
        self,
        being_id: str,
        run: Run,
        lease: Lease | None,
        thinking: Thinking | None,
        keep: Callable[[], None],
    ) -> Round:
        return Round(
            being_id=being_id,
            run=run,
            ledger=Ledger(self._table, being_id, run, lease),
            table=self._table,
            queue=self._queue,
            memory=self._memory,
            indexing=self._indexing,
            thinking=thinking,
            keep=keep,
        )


def patrol_over(
    memory: Memory, table: Table, queue: Queue, indexing: Indexing, *, clock: Clock
) -> Patrol:
    """Return the patrol of the Beings that these stores hold."""
    return Patrol(table, queue, memory, indexing, clock=clock)
