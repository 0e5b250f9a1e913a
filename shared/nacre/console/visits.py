"""Visits: the requests of owners, and the parts with which a page answers them.

A route takes a `Visit` of one Being, or an `OwnerVisit`, and answers with its `show` or `redirect`.
"""

import re
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import Response

from nacre.access.beings import Being
from nacre.access.owners import DEFAULT_OWNER
from nacre.access.signin.browser_sessions import BrowserSession
from nacre.access.tokens.authentication import is_being_id
from nacre.console.frame import address, framed
from nacre.console.parts import Console, Control
from nacre.core.errors import ForbiddenError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.web.forms import query_fields
from nacre.web.page_session import OwnForm, require_form, require_owner
from nacre.web.portal_parts import portal_of
from nacre.web.signin.routes import redirect

if TYPE_CHECKING:
    from nacre.access.authority import Authority
    from nacre.being.memory.repositories import Repositories

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def checked_id(text: str) -> str:
    """Return the id of a memory, a scene or a cluster; raises NotFoundError for other text.

    The item store would refuse a key that is too long.
    """
    if _ID.fullmatch(text) is None:
        raise NotFoundError("there is nothing with this id")
    return text


def _node_id(node_id: str) -> str:
    return checked_id(node_id)


def _scene_id(scene_id: str) -> str:
    return checked_id(scene_id)


NodeId = Annotated[str, Depends(_node_id)]
SceneId = Annotated[str, Depends(_scene_id)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerVisit:
    """A request of an owner; `fields` are those of a form that they sent."""

    request: Request
    owner: BrowserSession
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def query(self) -> dict[str, str]:
        """Return the fields in the address; raises InvalidInputError for one that comes twice."""
        return query_fields(self.request)

    @property
    def control(self) -> Control:
        """Return the parts of the control pages."""
        control: Control = self.request.app.state.control
        return control

    @property
    def authority(self) -> "Authority":
        """Return the owners, Beings, tokens and clients."""
        return portal_of(self.request).authority

    @property
    def own_beings(self) -> tuple[Being, ...]:
        """Return the owner's Beings, oldest first."""
        return tuple(self.authority.beings.of_owner(self.owner.owner))

    @property
    def keeps_server(self) -> bool:
        """Tell whether the owner administers the server: its rules for all, and other servers.

        That is the default owner, or the only owner who has Beings.
        """
        owner, authority = self.owner.owner, self.authority
        return owner == DEFAULT_OWNER or not any(
            authority.beings.of_owner(other.name)
            for other in authority.owners.all()
            if other.name != owner
        )

    def text(self, name: str) -> str:
        """Return a field of the form without surrounding space, empty if it is absent.

        Browsers end every line with CR LF; here each ends with LF.
        """
        return self.fields.get(name, "").replace("\r\n", "\n").strip()

    def show(self, name: str, *, here: str, **values: Any) -> Response:
        """Return a page as `framed` does; the menu leads to the pages of the oldest Being."""
        beings = self.own_beings
        oldest = beings[0] if beings else None
        return framed(self.request, self.owner, oldest, beings, name, here=here, **values)

    def redirect_to(self, path: str) -> Response:
        """Return a redirect to a page of this server."""
        return redirect(self.request, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit(OwnerVisit):
    """A request of an owner about one of their Beings."""

    being: Being
    beings: tuple[Being, ...]

    @property
    def being_id(self) -> str:
        """Return the id of the Being."""
        return self.being.being_id

    @property
    def parts(self) -> Console:
        """Return the parts of the memory pages."""
        parts: Console = self.request.app.state.console
        return parts

    @property
    def memory(self) -> "Repositories":
        """Return the memory of every Being."""
        return self.parts.memory_services().memory

    def show(self, name: str, *, here: str, **values: Any) -> Response:
        """Return a page about the Being as `framed` does; `typed` are the fields of the form."""
        values = {"typed": self.fields, **values}
        return framed(self.request, self.owner, self.being, self.beings, name, here=here, **values)

    def redirect(self, *parts: str, **query: str) -> Response:
        """Return a redirect to a page about the Being, after a form was processed."""
        parameters = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
        path = address(self.being, *parts)
        return self.redirect_to(f"{path}?{parameters}" if parameters else path)


def _owner_visit(
    request: Request, owner: Annotated[BrowserSession, Depends(require_owner)]
) -> OwnerVisit:
    return OwnerVisit(request=request, owner=owner)


def _owner_form(request: Request, form: Annotated[OwnForm, Depends(require_form)]) -> OwnerVisit:
    return OwnerVisit(request=request, owner=form.signed_in, fields=form.fields)


OwnerPage = Annotated[OwnerVisit, Depends(_owner_visit)]
OwnerForm = Annotated[OwnerVisit, Depends(_owner_form)]


def _keeper(at: OwnerVisit) -> OwnerVisit:
    """Return the visit of an owner who administers the server; raises ForbiddenError otherwise."""
    if not at.keeps_server:
        raise ForbiddenError(
            f"only the owner '{DEFAULT_OWNER}' can change what all Beings here share"
        )
    return at


def _keeper_visit(at: OwnerPage) -> OwnerVisit:
    return _keeper(at)


def _keeper_form(sent: OwnerForm) -> OwnerVisit:
    return _keeper(sent)


KeeperPage = Annotated[OwnerVisit, Depends(_keeper_visit)]
KeeperForm = Annotated[OwnerVisit, Depends(_keeper_form)]


def _of_being(at: OwnerVisit, being_id: str) -> Visit:
    """Return the visit of a Being; raises NotFoundError, also for a Being of another owner."""
    beings = at.own_beings
    for being in beings:
        if is_being_id(being_id) and being.being_id == being_id:
            return Visit(
                request=at.request, owner=at.owner, fields=at.fields, being=being, beings=beings
            )
    raise NotFoundError("you have no such Being")


def _visit(at: OwnerPage, being_id: str) -> Visit:
    return _of_being(at, being_id)


def _form_visit(sent: OwnerForm, being_id: str) -> Visit:
    return _of_being(sent, being_id)


PageVisit = Annotated[Visit, Depends(_visit)]
PostedForm = Annotated[Visit, Depends(_form_visit)]
