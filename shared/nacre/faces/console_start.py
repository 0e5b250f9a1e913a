"""The first page: on to the only Being, or a choice of several, or a form for the first one."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from nacre.access.sessions import SignedIn
from nacre.errors import ConflictError, InvalidInputError
from nacre.faces.console_shell import At, address, beings_of, show_owner
from nacre.faces.portal_parts import portal_of
from nacre.faces.sign_in_routes import redirect
from nacre.faces.signing_in import OwnForm, require_form, require_owner

routes = APIRouter()


@routes.get("/")
def start(request: Request, owner: Annotated[SignedIn, Depends(require_owner)]) -> Response:
    """Lead on to the only Being there is, or show all."""
    beings = beings_of(request, owner)
    if len(beings) == 1:
        return redirect(request, address(beings[0], "overview"))
    return show_owner(request, owner, "beings.html", here="")


@routes.get("/beings")
def show_beings(request: Request, owner: Annotated[SignedIn, Depends(require_owner)]) -> Response:
    """Show the owner's Beings, with a form for another one."""
    return show_owner(request, owner, "beings.html", here="")


@routes.post("/beings")
def create_being(request: Request, form: Annotated[OwnForm, Depends(require_form)]) -> Response:
    """Make a Being of the name that was sent."""
    name = form.fields.get("name", "").strip()
    try:
        being = portal_of(request).authority.beings.create(name, owner=form.signed_in.owner)
    except (InvalidInputError, ConflictError) as error:
        return show_owner(
            request, form.signed_in, "beings.html", here="", status=400, problem=str(error)
        )
    return redirect(request, address(being, "overview"))


@routes.get("/beings/{being_id}")
def being_page(request: Request, at: At) -> Response:
    """Lead on to the Being's first page."""
    return redirect(request, address(at.being, "overview"))
