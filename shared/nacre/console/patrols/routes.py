"""Patrols: what waits, what each of them did and why not more; one now, and taking one back."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.being.patrol.run.receipts import counted
from nacre.being.patrol.run.runs import Runs
from nacre.being.patrol.run.status import standing_of
from nacre.being.patrol.trigger import step_after, steps
from nacre.being.patrol.worker_requests import Tasks
from nacre.console.control_access import control_of
from nacre.console.control_parts import Control
from nacre.console.frame import At, Sent, onward, show
from nacre.core.errors import InvalidInputError, NotFoundError, UnavailableError
from nacre.web.forms import query_fields

routes = APIRouter(prefix="/beings/{being_id}/patrols")

_SHOWN = 20
_LOOKS = 20  # after a patrol was asked for, until the worker has surely begun


@routes.get("")
def show_patrols(request: Request, at: At) -> Response:
    """Show how things stand, and what patrols did, the newest first."""
    table = control_of(request).table()
    asked = query_fields(request)
    start = asked.get("from", "")
    if start and not _is_number(start):
        raise InvalidInputError("there are no patrols from there on")
    page = Runs(table).page(at.being_id, limit=_SHOWN, start=start or None)
    return show(
        request,
        at,
        "patrols/patrols.html",
        here="patrols",
        standing=standing_of(table, at.being_id),
        step_after=step_after,
        steps=steps(),
        runs=page.runs,
        older=page.next,
        is_first=not start,
        looks=_looks(asked),
    )


@routes.post("/run")
def run(request: Request, sent: Sent) -> Response:
    """Ask for a patrol now; it runs whatever waits."""
    control_of(request).patrols().ask(sent.being_id, always=True)
    return onward(request, sent, "patrols", said="patrol")


@routes.post("/dry-run")
def dry_run(request: Request, sent: Sent) -> Response:
    """Ask what a patrol would do now; nothing is written."""
    task = _tasks(control_of(request)).begin(sent.being_id, task="dry-run")
    return onward(request, sent, "patrols", "tasks", task)


@routes.get("/tasks/{task}")
def show_task(request: Request, at: At, task: str) -> Response:
    """Show what came of a task, or that it is not done yet."""
    report, problem = None, None
    try:
        report = _tasks(control_of(request)).report(at.being_id, task)
    except (NotFoundError, UnavailableError) as error:
        problem = str(error)
    return show(
        request,
        at,
        "patrols/patrol_task.html",
        here="patrols",
        task=task,
        report=report,
        counted=counted,
        problem=problem,
    )


@routes.get("/{seq}")
def show_run(request: Request, at: At, seq: str) -> Response:
    """Show one run's receipt."""
    found = Runs(control_of(request).table()).at(at.being_id, int(seq)) if _is_number(seq) else None
    if found is None:
        raise NotFoundError("there is no such patrol")
    receipt = found.receipt
    return show(
        request,
        at,
        "patrols/patrol.html",
        here="patrols",
        run=found,
        receipt=receipt,
        done=counted(receipt.counts),
        can_undo=found.state == "done"
        and any(receipt.counts.get(name) for name in ("merged", "superseded")),
    )


@routes.post("/{seq}/undo")
def undo(request: Request, sent: Sent, seq: str) -> Response:
    """Ask for what a run merged to be taken back."""
    control = control_of(request)
    found = Runs(control.table()).at(sent.being_id, int(seq)) if _is_number(seq) else None
    if found is None:
        raise NotFoundError("there is no such patrol")
    if found.state != "done":
        raise InvalidInputError("the patrol is not over; take it back when it is")
    task = _tasks(control).begin(sent.being_id, task="undo", run=found.run_id)
    return onward(request, sent, "patrols", "tasks", task)


def _looks(asked: dict[str, str]) -> int:
    """Return how often the page looks again by itself, though nothing runs yet."""
    if asked.get("said") == "patrol":
        return _LOOKS
    left = asked.get("looks", "")
    return min(int(left), _LOOKS) if _is_number(left) else 0


def _tasks(control: Control) -> Tasks:
    calls = control.patrols()
    return Tasks(calls.table, calls.trigger, control.clock, control.rng)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 9
