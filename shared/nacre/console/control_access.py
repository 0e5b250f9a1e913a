"""Access to the control pages: their parts, and the owner who administers the server."""

from typing import Annotated

from fastapi import Depends, Request

from nacre.access.owners import DEFAULT_OWNER
from nacre.access.signin.browser_sessions import BrowserSession
from nacre.console.parts import Control
from nacre.core.errors import ForbiddenError
from nacre.web.page_session import OwnForm, require_form, require_owner
from nacre.web.portal_parts import portal_of

Owner = Annotated[BrowserSession, Depends(require_owner)]
Form = Annotated[OwnForm, Depends(require_form)]


def control_of(request: Request) -> Control:
    """Return the parts that the control pages use."""
    parts: Control = request.app.state.control
    return parts


def keeps_server(request: Request, owner: BrowserSession) -> bool:
    """Tell whether an owner administers this server: the rules for all Beings, and other servers.

    That is the default owner, or the only owner who has Beings.
    """
    if owner.owner == DEFAULT_OWNER:
        return True
    authority = portal_of(request).authority
    others = (
        candidate.name for candidate in authority.owners.all() if candidate.name != owner.owner
    )
    return not any(authority.beings.of_owner(name) for name in others)


def require_keeper(request: Request, owner: Owner) -> BrowserSession:
    """Return the owner who administers the server; raises ForbiddenError for another one."""
    if not keeps_server(request, owner):
        raise ForbiddenError(
            f"only the owner '{DEFAULT_OWNER}' can change what all Beings here share"
        )
    return owner


def require_keepers_form(request: Request, form: Form) -> OwnForm:
    """Return the form of the owner who administers the server."""
    require_keeper(request, form.signed_in)
    return form


Keeper = Annotated[BrowserSession, Depends(require_keeper)]
KeepersForm = Annotated[OwnForm, Depends(require_keepers_form)]
