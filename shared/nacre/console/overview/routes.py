"""The first page, which lists the owner's Beings, and the overview of one Being."""

from fastapi import APIRouter
from fastapi.responses import Response

from nacre.console.approvals.inbox import LOCAL, Caller, callers
from nacre.console.frame import address
from nacre.console.overview.activity import activity, day_name, time_since
from nacre.console.overview.summary import summarize
from nacre.console.visits import OwnerForm, OwnerPage, PageVisit
from nacre.core.errors import ConflictError, InvalidInputError

routes = APIRouter()


@routes.get("/")
def start(at: OwnerPage) -> Response:
    """Redirect to the only Being, or show all."""
    beings = at.own_beings
    if len(beings) == 1:
        return at.redirect_to(address(beings[0], "overview"))
    return at.show("overview/beings.html", here="")


@routes.get("/beings")
def show_beings(at: OwnerPage) -> Response:
    """Show the owner's Beings, with a form for a new one."""
    return at.show("overview/beings.html", here="")


@routes.post("/beings")
def create_being(sent: OwnerForm) -> Response:
    """Create a Being."""
    try:
        being = sent.authority.beings.create(sent.text("name"), owner=sent.owner.owner)
    except (InvalidInputError, ConflictError) as error:
        return sent.show("overview/beings.html", here="", problem=str(error))
    return sent.redirect_to(address(being, "overview"))


@routes.get("/beings/{being_id}")
def being_page(at: PageVisit) -> Response:
    """Redirect to the overview of the Being."""
    return at.redirect("overview")


@routes.get("/beings/{being_id}/overview")
def overview(at: PageVisit) -> Response:
    """Show whether the memory works, what it learned today, and a summary of the Being."""
    table, services = at.parts.table(), at.parts.memory_services()
    by_token = callers(at.authority.tokens, [at.being])
    return at.show(
        "overview/overview.html",
        here="overview",
        summary=summarize(table, services, at.being_id),
        activity=activity(
            table,
            services,
            at.control.records(at.being_id),
            at.being_id,
            {**by_token, LOCAL: Caller("a program on this machine", "")},
        ),
        day_name=day_name,
        time_since=time_since,
    )
