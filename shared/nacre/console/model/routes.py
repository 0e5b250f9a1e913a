"""The page of a Being's language model: its key, and today's spending."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.being.language_model.daily_budget import Budget, Spending
from nacre.console.visits import PageVisit, PostedForm, Visit
from nacre.core.errors import InvalidInputError

routes = APIRouter(prefix="/beings/{being_id}/model")


@routes.get("")
def show_model(at: PageVisit) -> Response:
    """Show whether a key is set, and the spending; the key itself is never shown."""
    return _page(at)


@routes.post("/key")
def set_key(sent: PostedForm) -> Response:
    """Store a key; it replaces an earlier one."""
    try:
        sent.control.keys().set(sent.being_id, sent.text("key"))
    except InvalidInputError as error:
        return _page(sent, problem=str(error))
    return sent.redirect("model", said="key-set")


@routes.post("/key/clear")
def clear_key(sent: PostedForm) -> Response:
    """Delete the key."""
    sent.control.keys().clear(sent.being_id)
    return sent.redirect("model", said="key-cleared")


def _page(at: Visit, *, problem: str | None = None) -> Response:
    control = at.control
    spending = Spending(control.table(), Budget(0), clock=control.clock)
    return at.show(
        "model/model.html",
        here="model",
        problem=problem,
        key=control.keys().status(at.being_id),
        spent=spending.of_today(at.being_id),
    )
