"""The first page: on to the only Being, or a choice of several, or a form for the first one."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from nacre.access.signin.browser_sessions import SignedIn
from nacre.console.frame import At, address, beings_of, show_owner
from nacre.core.errors import ConflictError, InvalidInputError
from nacre.web.page_session import OwnForm, require_form, require_owner
from nacre.web.portal_parts import portal_of
from nacre.web.signin.routes import redirect

routes = APIRouter()


@routes.get("/")
def start(request: Request, owner: Annotated[SignedIn, Depends(require_owner)]) -> Response:
    """Lead on to the only Being there is, or show all."""
    beings = beings_of(request, owner)
    if len(beings) == 1:
        return redirect(request, address(beings[0], "overview"))
    return show_owner(request, owner, "start/beings.html", here="")


@routes.get("/beings")
def show_beings(request: Request, owner: Annotated[SignedIn, Depends(require_owner)]) -> Response:
    """Show the owner's Beings, with a form for another one."""
    return show_owner(request, owner, "start/beings.html", here="")


@routes.post("/beings")
def create_being(request: Request, form: Annotated[OwnForm, Depends(require_form)]) -> Response:
    """Make a Being of the name that was sent."""
    name = form.fields.get("name", "").strip()
    try:
        being = portal_of(request).authority.beings.create(name, owner=form.signed_in.owner)
    except (InvalidInputError, ConflictError) as error:
        return show_owner(
            request, form.signed_in, "start/beings.html", here="", status=400, problem=str(error)
        )
    return redirect(request, address(being, "overview"))


@routes.get("/beings/{being_id}")
def being_page(request: Request, at: At) -> Response:
    """Lead on to the Being's first page."""
    return redirect(request, address(at.being, "overview"))
