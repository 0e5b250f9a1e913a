"""The patrol: turns noted scenes into memories, and maintains the memories that exist."""

from collections.abc import Callable

from nacre.being.memory.index.summaries import add_summaries
from nacre.being.memory.index.sync import IndexSync
from nacre.being.memory.model.types import moment
from nacre.being.memory.repositories import Repositories
from nacre.being.patrol.planning.plans import Planner
from nacre.being.patrol.run.claim import claim, config_hash
from nacre.being.patrol.run.context import RunContext
from nacre.being.patrol.run.ledger import Ledger
from nacre.being.patrol.run.runs import Receipt, Run, Runs
from nacre.being.patrol.steps import merge_memories, split_clusters, tidy_clusters
from nacre.being.patrol.steps.age_memories import tick
from nacre.being.patrol.steps.assign_scenes import assign
from nacre.being.patrol.steps.count_recalls import count_recalls
from nacre.being.patrol.steps.dry_run import dry_run_receipt
from nacre.being.patrol.steps.extract_scenes import extract
from nacre.being.patrol.steps.finish_run import block, finish
from nacre.being.patrol.steps.forget_memories import forget
from nacre.being.patrol.steps.merge_memories import merge
from nacre.being.patrol.steps.rehome_memories import rehome
from nacre.being.patrol.steps.renew_clusters import renew
from nacre.being.patrol.steps.revive_memories import revive
from nacre.being.patrol.steps.split_clusters import split
from nacre.being.patrol.steps.tidy_clusters import tidy
from nacre.being.patrol.steps.undo_run import UndoReport, undo
from nacre.being.patrol.steps.write_journal import write_journal
from nacre.core.clock import Clock
from nacre.core.errors import UnavailableError
from nacre.core.limits import PATROL_SUMMARIES
from nacre.core.traces import span
from nacre.jobs.lease import Lease
from nacre.ports.items.table import Table
from nacre.ports.queue import Queue

Step = Callable[[RunContext], None]


def _forget(context: RunContext) -> None:
    count_recalls(context)
    forget(context)


def _tidy(context: RunContext) -> None:
    tidy(context)
    rehome(context)
    renew(context)


STEPS: tuple[tuple[int, str, Step], ...] = (
    (0, "extract", extract),
    (1, "assign", assign),
    (2, "clock", tick),
    (3, "flag", _forget),
    (merge_memories.STEP, "consolidate", merge),
    (5, "revive", revive),
    (split_clusters.STEP, "split", split),
    (tidy_clusters.STEP, "tidy", _tidy),
)
"""The steps in their order, each with its number and its name in progress messages and docs.

`clock` ages memories, `flag` counts recalls and forgets faded memories, and `consolidate` merges
those that say the same. `tidy` unites clusters about one subject, moves single memories to nearer
ones, and renews clusters.
`Run.step` is the last step whose decisions are stored. A resumed run begins with that step, so
earlier decisions are never made again on later data.
"""


class Patrol:
    """Runs patrols. The caller holds the lease `PATROL` of the Being and passes it in.

    Without a model, rules find at most `heard_facts` scenes in the messages of a day, and at most
    `captured_facts` in those that were captured from clients.
    """

    def __init__(
        self,
        table: Table,
        queue: Queue,
        memory: Repositories,
        indexing: IndexSync,
        *,
        clock: Clock,
        heard_facts: int = 0,
        captured_facts: int = 0,
    ) -> None:
        self._table = table
        self._queue = queue
        self._memory = memory
        self._indexing = indexing
        self._clock = clock
        self._heard_facts = heard_facts
        self._captured_facts = captured_facts
        self.runs = Runs(table)

    def run(
        self,
        being_id: str,
        *,
        trigger: str,
        renew_lease: Callable[[], None],
        planner: Planner | None = None,
        lease: Lease | None = None,
        on_step: Callable[[str], None] = lambda _: None,
    ) -> Receipt:
        """Finish the unfinished run or start a new one, and return its receipt.

        `renew_lease` is called between steps, `on_step` with the name of each step. If a store or
        an index does not answer, the run ends as `blocked`: its scenes wait, and the next call
        resumes it. Raises LeaseLostError if another worker has taken over.
        """
        with span("patrol.run", {"nacre.patrol.trigger": trigger}) as recorded:
            receipt = self._run(
                being_id,
                trigger=trigger,
                renew_lease=renew_lease,
                planner=planner,
                lease=lease,
                on_step=on_step,
            )
            recorded.set("nacre.patrol.state", receipt.state)
            return receipt

    def _run(
        self,
        being_id: str,
        *,
        trigger: str,
        renew_lease: Callable[[], None],
        planner: Planner | None,
        lease: Lease | None,
        on_step: Callable[[str], None],
    ) -> Receipt:
        run = claim(
            self._table,
            being_id,
            trigger=trigger,
            now=moment(self._clock()),
            model=None if planner is None else planner.model,
            lease=lease,
        )
        context = self._context(
            being_id, run, lease, None if run.model is None else planner, renew_lease
        )
        finished = None
        try:
            on_step("claim")
            context.index_updates.catch_up()
            add_summaries(context.indexing, being_id, at_most=PATROL_SUMMARIES)
            for number, name, step in STEPS:
                if number >= run.step:
                    on_step(name)
                    step(context)
                    renew_lease()
            on_step("finish")
            finished = finish(context, write_journal(context))
        except UnavailableError as error:
            block(context, str(error))
        try:
            stored = self.runs.at(being_id, run.seq)
        except UnavailableError:
            # An error here would make the caller request another run.
            if finished is None:
                raise
            stored = finished
        return (stored or run).receipt

    def dry_run(self, being_id: str, planner: Planner | None = None) -> Receipt:
        """Return the receipt of a run that would start now; only the costs of the model are stored.

        Raises UnavailableError if something does not answer.
        """
        run = Run(
            run_id="",
            seq=0,
            trigger="dry",
            state="open",
            step=0,
            now=moment(self._clock()),
            clock=0,
            model=None if planner is None else planner.model,
            config=config_hash(),
            work_seq=0,
            counts={},
            reasons=(),
        )
        return dry_run_receipt(self._context(being_id, run, None, planner, lambda: None))

    def undo(self, being_id: str, run_id: str) -> UndoReport:
        """Undo the merges and supersessions of a run.

        Raises NotFoundError for an unknown run, InvalidInputError for an unfinished one.
        """
        return undo(self._table, self._memory, being_id, run_id)

    def _context(
        self,
        being_id: str,
        run: Run,
        lease: Lease | None,
        planner: Planner | None,
        renew_lease: Callable[[], None],
    ) -> RunContext:
        return RunContext(
            being_id=being_id,
            run=run,
            ledger=Ledger(self._table, being_id, run, lease),
            table=self._table,
            queue=self._queue,
            memory=self._memory,
            indexing=self._indexing,
            planner=planner,
            renew_lease=renew_lease,
            heard_facts=self._heard_facts,
            captured_facts=self._captured_facts,
        )
