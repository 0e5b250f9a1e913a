"""The frame of the owner's pages: the menu, the Being that a page is about, and its answer.

A page about a Being has the address `/beings/ID/PAGE`, a page about the owner `/PAGE`. A route
takes a `Visit` and answers with its `show` or `redirect`.
"""

import re
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import Response

from nacre.access.beings import Being
from nacre.access.signin.browser_sessions import BrowserSession
from nacre.access.tokens.authentication import is_being_id
from nacre.console.control_access import control_of
from nacre.console.parts import Console, Control
from nacre.core.errors import NotFoundError
from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.web.forms import query_fields
from nacre.web.page_session import OwnForm, require_form, require_owner
from nacre.web.portal_parts import portal_of
from nacre.web.rendering import page
from nacre.web.signin.routes import redirect

if TYPE_CHECKING:
    from nacre.access.authority import Authority
    from nacre.being.memory.repositories import Repositories

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the menu: its name, and the last part of its address."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Group:
    """A section of the menu; the address of a Being's page begins with the Being's address."""

    name: str
    entries: tuple[Entry, ...]
    of_being: bool = True


MENU = (
    Group(
        "Memory",
        (
            Entry("Overview", "overview"),
            Entry("Map", "map"),
            Entry("Memories", "memories"),
            Entry("Notes", "profile/notes"),
            Entry("Diary", "profile/diary"),
            Entry("Relations", "relations"),
            Entry("Letters", "letters"),
            Entry("Knowledge", "profile"),
            Entry("Soul", "profile/souls"),
            Entry("Conversations", "history"),
            Entry("Export", "export"),
        ),
    ),
    Group(
        "Control",
        (
            Entry("Connect a client", "connect"),
            Entry("Access", "access"),
            Entry("Patrols", "patrols"),
            Entry("Rules", "policy"),
            Entry("Audit", "audit"),
            Entry("Language model", "model"),
        ),
    ),
    Group(
        "This server",
        (
            Entry("Approvals", "approvals"),
            Entry("Rules for all Beings", "rules"),
            Entry("Other servers", "servers"),
        ),
        of_being=False,
    ),
)
"""The menu of every page, in order."""

_OF_BEING = frozenset(entry.path for group in MENU if group.of_being for entry in group.entries)


NOTICES = {
    "saved": "Saved.",
    "same": "Nothing changed: the text is the same.",
    "deleted": "Deleted.",
    "erased": "Erased permanently.",
    "pinned": "Pinned. It will never be forgotten.",
    "unpinned": "Unpinned. From today it fades like other memories.",
    "merged": "Merged. The originals are kept, so you can undo the merge.",
    "apart": "The merge was undone. The original memories are separate again.",
    "patrol": "A patrol was requested. It starts as soon as the worker is free.",
    "token-revoked": "The token was revoked.",
    "client-revoked": "The client was disconnected, with all its tokens.",
    "all-revoked": "Every token was revoked, and every client disconnected.",
    "granted": "Allowed. A waiting client continues by itself; otherwise make the call again.",
    "denied": "Denied.",
    "in-force": "The rules are in force.",
    "trusted": "The selected tools are trusted now.",
    "key-set": "The key was saved, encrypted. Patrols use it from now on.",
    "key-cleared": "The key was deleted.",
    "asked": "Requested. The next patrol restores the memory.",
}
"""The message of a page after a form was sent, by the word in its address."""


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


def beings_of(request: Request, owner: BrowserSession) -> tuple[Being, ...]:
    """Return the owner's Beings, oldest first."""
    return tuple(portal_of(request).authority.beings.of_owner(owner.owner))


def address(being: Being | str, *parts: str) -> str:
    """Return the address of a page about a Being."""
    being_id = being if isinstance(being, str) else being.being_id
    return "/".join(["/beings", being_id, *(quote(part, safe="") for part in parts)])


def show_owner(
    request: Request, owner: BrowserSession, name: str, *, here: str, **values: Any
) -> Response:
    """Return a page about the owner; the menu leads to the pages of the oldest Being."""
    beings = beings_of(request, owner)
    oldest = beings[0] if beings else None
    return _page(request, owner, oldest, beings, name, here=here, same="overview", **values)


def _page(
    request: Request,
    owner: BrowserSession,
    being: Being | None,
    beings: tuple[Being, ...],
    name: str,
    *,
    problem: str | None = None,
    status: int | None = None,
    **values: Any,
) -> Response:
    """Return a page in its frame; with a problem and no other status, the status is 400."""
    return page(
        request,
        f"console/{name}",
        status=status or (400 if problem else 200),
        problem=problem,
        signed_in=owner,
        being=being,
        beings=beings,
        said=NOTICES.get(request.query_params.get("said", "")),
        menu=MENU,
        at=lambda *parts: address(being or "", *parts),
        **values,
    )


@dataclass(frozen=True, slots=True)
class Visit:
    """A request of an owner about one of their Beings; `fields` are those of a form they sent."""

    request: Request
    owner: BrowserSession
    being: Being
    beings: tuple[Being, ...]
    fields: dict[str, str] = field(default_factory=dict)

    @property
    def being_id(self) -> str:
        """Return the id of the Being."""
        return self.being.being_id

    @property
    def query(self) -> dict[str, str]:
        """Return the fields in the address; raises InvalidInputError for one that comes twice."""
        return query_fields(self.request)

    @property
    def parts(self) -> Console:
        """Return the parts of the memory pages."""
        parts: Console = self.request.app.state.console
        return parts

    @property
    def memory(self) -> "Repositories":
        """Return the memory of every Being."""
        return self.parts.memory_services().memory

    @property
    def control(self) -> Control:
        """Return the parts of the control pages."""
        return control_of(self.request)

    @property
    def authority(self) -> "Authority":
        """Return the owners, Beings, tokens and clients."""
        return portal_of(self.request).authority

    def text(self, name: str) -> str:
        """Return a field of the form without surrounding space, empty if it is absent.

        Browsers end every line with CR LF; here each ends with LF.
        """
        return self.fields.get(name, "").replace("\r\n", "\n").strip()

    def show(self, name: str, *, here: str, **values: Any) -> Response:
        """Return a page about the Being; `here` is the path of its entry in the menu.

        With a problem and no other status, the status is 400.
        """
        values = {"same": here if here in _OF_BEING else "overview", "typed": self.fields, **values}
        return _page(self.request, self.owner, self.being, self.beings, name, here=here, **values)

    def redirect(self, *parts: str, **query: str) -> Response:
        """Return a redirect to a page about the Being, after a form was processed."""
        parameters = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
        path = address(self.being, *parts)
        return redirect(self.request, f"{path}?{parameters}" if parameters else path)


def visit(
    request: Request, being_id: str, owner: Annotated[BrowserSession, Depends(require_owner)]
) -> Visit:
    """Return the visit; raises NotFoundError, also for a Being of another owner."""
    beings = beings_of(request, owner)
    for being in beings:
        if is_being_id(being_id) and being.being_id == being_id:
            return Visit(request, owner, being, beings)
    raise NotFoundError("you have no such Being")


def form_visit(
    request: Request, being_id: str, form: Annotated[OwnForm, Depends(require_form)]
) -> Visit:
    """Return the visit of a form that a page of the owner's session has sent."""
    return replace(visit(request, being_id, form.signed_in), fields=form.fields)


PageVisit = Annotated[Visit, Depends(visit)]
PostedForm = Annotated[Visit, Depends(form_visit)]
