"""The frame of the owner's pages: the menu around a page, and the notice above it.

A page about a Being has the address `/beings/ID/PAGE`, a page about the owner `/PAGE`.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import Response

from nacre.access.beings import Being
from nacre.access.signin.browser_sessions import BrowserSession
from nacre.core.lazy_dataclasses import dataclass
from nacre.web.rendering import page


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
            Entry("Captured", "captured"),
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
            Entry("Logins", "logins"),
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
    "vouched": "You vouch for this text. It is trusted as your own word.",
    "unvouched": "You no longer vouch for it. It is trusted as before.",
    "merged": "Merged. The originals are kept, so you can undo the merge.",
    "hidden": "Hidden. No search finds it until you show it again.",
    "shown": "Shown again.",
    "reverted": "The earlier wording is back.",
    "apart": "The merge was undone. The original memories are separate again.",
    "patrol": "A patrol was requested. It starts as soon as the worker is free.",
    "token-revoked": "The token was revoked.",
    "client-revoked": "The client was disconnected, with all its tokens.",
    "all-revoked": "Every token was revoked, and every client disconnected.",
    "granted": "Allowed. A waiting client continues by itself; otherwise make the call again.",
    "denied": "Denied.",
    "in-force": "The rules are in force.",
    "trusted": "The selected tools are trusted now.",
    "logged-in": "You are logged in. Calls of your Beings use this login from now on.",
    "logged-out": "You are logged out.",
    "key-set": "The key was saved, encrypted. Patrols use it from now on.",
    "key-cleared": "The key was deleted.",
    "asked": "Requested. The next patrol restores the memory.",
}
"""The message of a page after a form was sent, by the word in its address."""


def address(being: Being | str, *parts: str) -> str:
    """Return the address of a page about a Being."""
    being_id = being if isinstance(being, str) else being.being_id
    return "/".join(["/beings", being_id, *(quote(part, safe="") for part in parts)])


def framed(
    request: Request,
    owner: BrowserSession,
    being: Being | None,
    beings: Sequence[Being],
    name: str,
    *,
    here: str,
    problem: str | None = None,
    status: int | None = None,
    **values: Any,
) -> Response:
    """Return a page in its frame; `here` is the path of its entry in the menu.

    With a problem and no other status, the status is 400.
    """
    return page(
        request,
        f"console/{name}",
        status=status or (400 if problem else 200),
        problem=problem,
        here=here,
        same=here if here in _OF_BEING else "overview",
        signed_in=owner,
        being=being,
        beings=beings,
        said=NOTICES.get(request.query_params.get("said", "")),
        menu=MENU,
        at=lambda *parts: address(being or "", *parts),
        **values,
    )
