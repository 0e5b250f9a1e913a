"""The page of a Being's language model: its key, and today's spending."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.being.language_model.daily_budget import Budget, Spending
from nacre.console.control_access import control_of
from nacre.console.frame import PageVisit, PostedForm, Visit, redirect_to, show
from nacre.core.errors import InvalidInputError

routes = APIRouter(prefix="/beings/{being_id}/model")


@routes.get("")
def show_model(request: Request, at: PageVisit) -> Response:
    """Show whether a key is set, and the spending; the key itself is never shown."""
    return _page(request, at)


@routes.post("/key")
def set_key(request: Request, sent: PostedForm) -> Response:
    """Store a key; it replaces an earlier one."""
    try:
        control_of(request).keys().set(sent.being_id, sent.text("key"))
    except InvalidInputError as error:
        return _page(request, sent, problem=str(error))
    return redirect_to(request, sent, "model", said="key-set")


@routes.post("/key/clear")
def clear_key(request: Request, sent: PostedForm) -> Response:
    """Delete the key."""
    control_of(request).keys().clear(sent.being_id)
    return redirect_to(request, sent, "model", said="key-cleared")


def _page(request: Request, at: Visit, *, problem: str | None = None) -> Response:
    control = control_of(request)
    spending = Spending(control.table(), Budget(0), clock=control.clock)
    return show(
        request,
        at,
        "model/model.html",
        here="model",
        problem=problem,
        key=control.keys().status(at.being_id),
        spent=spending.of_today(at.being_id),
    )
