"""The pages of patrols: past runs, a run on request, a dry run and undoing a run."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.being.patrol.jobs import PatrolTasks
from nacre.being.patrol.run.runs import Run, Runs
from nacre.being.patrol.run.status import counts_in_words, patrol_status
from nacre.being.patrol.trigger import last_step, step_after
from nacre.console.parts import Control
from nacre.console.visits import PageVisit, PostedForm
from nacre.core.errors import InvalidInputError, NotFoundError, UnavailableError

routes = APIRouter(prefix="/beings/{being_id}/patrols")

_SHOWN = 20
_LOOKS = 20  # refreshes after a patrol was requested, until the worker has surely started


@routes.get("")
def show_patrols(at: PageVisit) -> Response:
    """Show the current state and the past patrols, newest first."""
    table = at.control.table()
    fields = at.query
    start = fields.get("from", "")
    if start and not _is_number(start):
        raise InvalidInputError("'from' must be the number of a patrol")
    page = Runs(table).page(at.being_id, limit=_SHOWN, start=start or None)
    return at.show(
        "patrols/patrols.html",
        here="patrols",
        patrol_status=patrol_status(table, at.being_id),
        step_after=step_after,
        steps=last_step(),
        runs=page.runs,
        older=page.next,
        is_first=not start,
        looks=_looks(fields),
    )


@routes.post("/run")
def run(sent: PostedForm) -> Response:
    """Request a patrol now, even if nothing waits."""
    sent.control.patrols().ask(sent.being_id, always=True)
    return sent.redirect("patrols", said="patrol")


@routes.post("/dry-run")
def dry_run(sent: PostedForm) -> Response:
    """Request a dry run, which writes nothing."""
    task = _tasks(sent.control).begin(sent.being_id, task="dry-run")
    return sent.redirect("patrols", "tasks", task)


@routes.get("/tasks/{task}")
def show_task(at: PageVisit, task: str) -> Response:
    """Show the result of a task, or that it is not done yet."""
    report, problem = None, None
    try:
        report = _tasks(at.control).report(at.being_id, task)
    except (NotFoundError, UnavailableError) as error:
        problem = str(error)
    return at.show(
        "patrols/patrol_task.html",
        here="patrols",
        task=task,
        report=report,
        counts_in_words=counts_in_words,
        status=200,
        problem=problem,
    )


@routes.get("/{seq}")
def show_run(at: PageVisit, seq: str) -> Response:
    """Show one run's receipt."""
    patrol_run = _run(at.control, at.being_id, seq)
    receipt = patrol_run.receipt
    return at.show(
        "patrols/patrol.html",
        here="patrols",
        run=patrol_run,
        receipt=receipt,
        done=counts_in_words(receipt.counts),
        can_undo=patrol_run.state == "done"
        and any(receipt.counts.get(name) for name in ("merged", "superseded")),
    )


@routes.post("/{seq}/undo")
def undo(sent: PostedForm, seq: str) -> Response:
    """Request that the merges of a run are undone."""
    control = sent.control
    patrol_run = _run(control, sent.being_id, seq)
    if patrol_run.state != "done":
        raise InvalidInputError("the patrol is still running; undo it when it has finished")
    task = _tasks(control).begin(sent.being_id, task="undo", run=patrol_run.run_id)
    return sent.redirect("patrols", "tasks", task)


def _run(control: Control, being_id: str, seq: str) -> Run:
    patrol_run = Runs(control.table()).at(being_id, int(seq)) if _is_number(seq) else None
    if patrol_run is None:
        raise NotFoundError("there is no such patrol")
    return patrol_run


def _looks(fields: dict[str, str]) -> int:
    """Return how often the page refreshes itself although nothing runs yet."""
    if fields.get("said") == "patrol":
        return _LOOKS
    looks = fields.get("looks", "")
    return min(int(looks), _LOOKS) if _is_number(looks) else 0


def _tasks(control: Control) -> PatrolTasks:
    calls = control.patrols()
    return PatrolTasks(calls.table, calls.trigger, control.clock, control.rng)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 9
