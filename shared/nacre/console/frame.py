"""The frame of the owner's pages: whose Being a page is about, and the way to the others.

A page about a Being has the address `/beings/ID/PAGE`, a page about the owner `/PAGE`. A route
takes a `Visit` (or `FormVisit`, for what a form sends) and answers with `show` or `onward`.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import Response

from nacre.access.beings import Being
from nacre.access.signin.browser_sessions import SignedIn
from nacre.access.tokens.authentication import is_being_id
from nacre.console.memory_parts import Console
from nacre.core.errors import NotFoundError
from nacre.web.page_session import OwnForm, require_form, require_owner
from nacre.web.portal_parts import portal_of
from nacre.web.rendering import page
from nacre.web.signin.routes import redirect

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A page in the menu: its name, and the last part of its address."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Group:
    """Pages that belong together; those of a Being have its address before their own."""

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
            Entry("What it knows", "profile"),
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
        "Everything here",
        (
            Entry("Approvals", "approvals"),
            Entry("Rules for all", "rules"),
            Entry("Other servers", "servers"),
        ),
        of_being=False,
    ),
)
"""Every page that is reached from everywhere, in the order of the menu."""

_OF_BEING = frozenset(each.path for group in MENU if group.of_being for each in group.entries)


@dataclass(frozen=True, slots=True)
class Visit:
    """An owner at a page about one of their Beings."""

    owner: SignedIn
    being: Being
    beings: tuple[Being, ...]

    @property
    def being_id(self) -> str:
        """Return the id of the Being."""
        return self.being.being_id


@dataclass(frozen=True, slots=True)
class FormVisit(Visit):
    """The same, with the fields of a form that the owner sent."""

    fields: dict[str, str]

    def text(self, name: str) -> str:
        """Return a field as it was typed but for the ends of its lines, empty if it is not there.

        Browsers send lines with CR LF whatever was in them before.
        """
        return self.fields.get(name, "").replace("\r\n", "\n").strip()


SAID = {
    "saved": "Saved.",
    "same": "Nothing changed: it said so already.",
    "deleted": "Deleted.",
    "erased": "Erased for good.",
    "pinned": "Pinned: it is never forgotten.",
    "unpinned": "No longer pinned: from today it fades as others do.",
    "merged": "Merged. What it was made of is kept, and the merge can be taken back.",
    "apart": "The merge was taken back; what it was made of stands for itself again.",
    "patrol": "A patrol was asked for. It begins as soon as the worker is free.",
    "token-revoked": "The token was revoked.",
    "client-revoked": "The client was disconnected, with all its tokens.",
    "all-revoked": "Every token was revoked, and every client disconnected.",
    "granted": "Allowed. A client that waits goes on by itself; else make the call again.",
    "denied": "Denied.",
    "in-force": "The rules are in force.",
    "trusted": "The tools that you looked at are trusted now.",
    "key-set": "The key is kept, sealed. Patrols use it from now on.",
    "key-cleared": "The key is forgotten.",
    "asked": "Asked for: the next patrol brings it back.",
}
"""What a page says after a form was done, by the word in its address."""


def console_of(request: Request) -> Console:
    """Return what the owner's pages work on."""
    parts: Console = request.app.state.console
    return parts


def visit(
    request: Request, being_id: str, owner: Annotated[SignedIn, Depends(require_owner)]
) -> Visit:
    """Return the visit; another owner's Being is not there, like one that never was."""
    beings = beings_of(request, owner)
    for being in beings:
        if is_being_id(being_id) and being.being_id == being_id:
            return Visit(owner, being, beings)
    raise NotFoundError("you have no such Being")


def form_visit(
    request: Request, being_id: str, form: Annotated[OwnForm, Depends(require_form)]
) -> FormVisit:
    """Return the visit of a form; only a page of the owner's own session can have sent it."""
    found = visit(request, being_id, form.signed_in)
    return FormVisit(found.owner, found.being, found.beings, form.fields)


def known_id(text: str) -> str:
    """Return what may be the id of a memory, a scene or a group; NotFoundError for anything else.

    Stores refuse keys that are too long, and no id has letters that would need care.
    """
    if _ID.fullmatch(text) is None:
        raise NotFoundError("there is no such thing here")
    return text


def _node_id(node_id: str) -> str:
    return known_id(node_id)


def _scene_id(scene_id: str) -> str:
    return known_id(scene_id)


NodeId = Annotated[str, Depends(_node_id)]
SceneId = Annotated[str, Depends(_scene_id)]
At = Annotated[Visit, Depends(visit)]
Sent = Annotated[FormVisit, Depends(form_visit)]


def beings_of(request: Request, owner: SignedIn) -> tuple[Being, ...]:
    """Return the owner's Beings, the oldest first."""
    return tuple(portal_of(request).authority.beings.of_owner(owner.owner))


def address(being: Being | str, *parts: str) -> str:
    """Return the address of a page about a Being."""
    being_id = being if isinstance(being, str) else being.being_id
    return "/".join(["/beings", being_id, *(quote(part, safe="") for part in parts)])


def show(
    request: Request, where: Visit, name: str, *, here: str, status: int = 200, **values: Any
) -> Response:
    """Return a page about a Being; `here` is the path of its entry in the menu."""
    return page(
        request,
        f"console/{name}",
        status=status,
        signed_in=where.owner,
        being=where.being,
        beings=where.beings,
        here=here,
        same=here if here in _OF_BEING else "overview",
        said=SAID.get(request.query_params.get("said", "")),
        menu=MENU,
        at=lambda *parts: address(where.being, *parts),
        **values,
    )


def show_owner(
    request: Request, owner: SignedIn, name: str, *, here: str, status: int = 200, **values: Any
) -> Response:
    """Return a page about the owner; the menu leads to the pages of the oldest Being."""
    beings = beings_of(request, owner)
    return page(
        request,
        f"console/{name}",
        status=status,
        signed_in=owner,
        being=beings[0] if beings else None,
        beings=beings,
        here=here,
        same="overview",
        said=SAID.get(request.query_params.get("said", "")),
        menu=MENU,
        at=lambda *parts: address(beings[0] if beings else "", *parts),
        **values,
    )


def onward(request: Request, where: Visit, *parts: str, **query: str) -> Response:
    """Return the answer to a form that was done: to a page about the Being, to be read."""
    asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
    return redirect(request, address(where.being, *parts) + (f"?{asked}" if asked else ""))
