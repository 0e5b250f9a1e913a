"""The first page, which lists the owner's Beings, and the overview of one Being."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from nacre.console.control_access import Form, Owner
from nacre.console.frame import PageVisit, address, beings_of, show_owner
from nacre.console.overview.summary import summarize
from nacre.core.errors import ConflictError, InvalidInputError
from nacre.web.portal_parts import portal_of
from nacre.web.signin.routes import redirect

routes = APIRouter()


@routes.get("/")
def start(request: Request, owner: Owner) -> Response:
    """Redirect to the only Being, or show all."""
    beings = beings_of(request, owner)
    if len(beings) == 1:
        return redirect(request, address(beings[0], "overview"))
    return show_owner(request, owner, "overview/beings.html", here="")


@routes.get("/beings")
def show_beings(request: Request, owner: Owner) -> Response:
    """Show the owner's Beings, with a form for a new one."""
    return show_owner(request, owner, "overview/beings.html", here="")


@routes.post("/beings")
def create_being(request: Request, form: Form) -> Response:
    """Create a Being."""
    name = form.fields.get("name", "").strip()
    try:
        being = portal_of(request).authority.beings.create(name, owner=form.signed_in.owner)
    except (InvalidInputError, ConflictError) as error:
        return show_owner(
            request, form.signed_in, "overview/beings.html", here="", problem=str(error)
        )
    return redirect(request, address(being, "overview"))


@routes.get("/beings/{being_id}")
def being_page(at: PageVisit) -> Response:
    """Redirect to the overview of the Being."""
    return at.redirect("overview")


@routes.get("/beings/{being_id}/overview")
def overview(at: PageVisit) -> Response:
    """Show a summary of the Being."""
    parts = at.parts
    summary = summarize(parts.table(), parts.memory_services(), at.being_id)
    return at.show("overview/overview.html", here="overview", summary=summary)
