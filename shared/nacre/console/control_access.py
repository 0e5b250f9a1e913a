"""What the pages about control share: their parts, and who may change what counts for everybody."""

from typing import Annotated

from fastapi import Depends, Request

from nacre.access.owners import DEFAULT_OWNER
from nacre.access.signin.browser_sessions import SignedIn
from nacre.console.control_parts import Control
from nacre.core.errors import ForbiddenError
from nacre.web.page_session import OwnForm, require_form, require_owner
from nacre.web.portal_parts import portal_of

Owner = Annotated[SignedIn, Depends(require_owner)]
Form = Annotated[OwnForm, Depends(require_form)]


def control_of(request: Request) -> Control:
    """Return what the pages about control work on."""
    parts: Control = request.app.state.control
    return parts


def keeps_server(request: Request, owner: SignedIn) -> bool:
    """Tell whether an owner looks after what all Beings here share: rules for all, other servers.

    That is the first owner, or the only one who has Beings.
    """
    if owner.owner == DEFAULT_OWNER:
        return True
    authority = portal_of(request).authority
    others = (each.name for each in authority.owners.all() if each.name != owner.owner)
    return not any(authority.beings.of_owner(name) for name in others)


def require_keeper(request: Request, owner: Owner) -> SignedIn:
    """Return the owner who looks after the server; raises ForbiddenError for another one."""
    if not keeps_server(request, owner):
        raise ForbiddenError(
            f"what all Beings here share is looked after by the owner '{DEFAULT_OWNER}'"
        )
    return owner


def require_keepers_form(request: Request, form: Form) -> OwnForm:
    """Return the form of the owner who looks after the server."""
    require_keeper(request, form.signed_in)
    return form


Keeper = Annotated[SignedIn, Depends(require_keeper)]
KeepersForm = Annotated[OwnForm, Depends(require_keepers_form)]
