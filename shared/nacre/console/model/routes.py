"""The key of a Being's language model, and what its orders and patrols have spent today."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.being.language_model.spending import Budget, Spending
from nacre.console.control_access import control_of
from nacre.console.frame import At, Sent, Visit, onward, show
from nacre.core.errors import InvalidInputError

routes = APIRouter(prefix="/beings/{being_id}/model")


@routes.get("")
def show_model(request: Request, at: At) -> Response:
    """Show whether there is a key, and what was spent; the key itself is never shown."""
    return _page(request, at)


@routes.post("/key")
def set_key(request: Request, sent: Sent) -> Response:
    """Keep a key, in the place of one that there is."""
    try:
        control_of(request).keys().set(sent.being_id, sent.text("key"))
    except InvalidInputError as error:
        return _page(request, sent, problem=str(error))
    return onward(request, sent, "model", said="key-set")


@routes.post("/key/clear")
def clear_key(request: Request, sent: Sent) -> Response:
    """Forget the key."""
    control_of(request).keys().clear(sent.being_id)
    return onward(request, sent, "model", said="key-cleared")


def _page(request: Request, at: Visit, *, problem: str | None = None) -> Response:
    control = control_of(request)
    spending = Spending(control.table(), Budget(0), clock=control.clock)
    return show(
        request,
        at,
        "model/model.html",
        here="model",
        status=400 if problem else 200,
        problem=problem,
        key=control.keys().status(at.being_id),
        spent=spending.of_today(at.being_id),
    )
