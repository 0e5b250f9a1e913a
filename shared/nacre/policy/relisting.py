"""Lists that a server has announced: asked for at once, and awaited by who uses what they hold.

A client lists again when it likes, or never. Until the new list has been compared with the pins,
nobody knows whether a tool is still the one that was trusted.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nacre.policy.conversation import Asked, Conversation
from nacre.policy.judge import Call
from nacre.policy.pins import PinKind
from nacre.policy.rule import Subject
from nacre.policy.trust import Trust
from nacre.policy.wire import LISTS
from nacre.protocol import strict_json

ANNOUNCED: Mapping[str, tuple[str, ...]] = {
    "notifications/tools/list_changed": ("tools/list",),
    "notifications/prompts/list_changed": ("prompts/list",),
    "notifications/resources/list_changed": ("resources/list", "resources/templates/list"),
}
_KINDS: Mapping[str, PinKind] = {
    "tools/list": "tool",
    "prompts/list": "prompt",
    "resources/list": "resource",
    "resources/templates/list": "template",
}
_USES: Mapping[str, tuple[str, ...]] = {
    "tools/call": ("tools/list",),
    "prompts/get": ("prompts/list",),
    "resources/read": ("resources/list", "resources/templates/list"),
}
_MOST_PAGES = 50


@dataclass(slots=True)
class Changes:
    """How often each list of a server was announced, and how much of that is known.

    The conversations of one caller share it.
    """

    announced: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    first_page: dict[str, int] = field(default_factory=dict)

    def is_stale(self, method: str) -> bool:
        """Tell whether a list was announced and has not been seen since."""
        return self.announced.get(method, 0) > self.known.get(method, 0)


class Relisting:
    """Asks for announced lists in one conversation."""

    def __init__(self, talk: Conversation, trust: Trust, changes: Changes) -> None:
        self._talk = talk
        self._trust = trust
        self._changes = changes

    def announced(self, method: str) -> bytes | None:
        """Note that lists have changed; return the request that asks for the first of them."""
        if self._talk.judge.policy().settings.pins == "off":
            return None
        lists = [each for each in ANNOUNCED[method] if self._trust.is_known(_KINDS[each])]
        for each in lists:
            self._changes.announced[each] = self._changes.announced.get(each, 0) + 1
        return self._request(lists[0], None, 1, tuple(lists[1:])) if lists else None

    def asked(self, asked: Asked) -> Asked:
        """Note what a client knows of changes when it asks for a list."""
        if asked.method in LISTS:
            asked.changes = self._changes.announced.get(asked.method, 0)
        return asked

    def seen(self, asked: Asked, result: Mapping[str, Any], *, is_first: bool) -> None:
        """Note that a page of a list has been compared with the pins."""
        if is_first:
            self._changes.first_page[asked.method] = asked.changes
        if result.get("nextCursor") is None:
            began = self._changes.first_page.get(asked.method, 0)
            known = min(began, asked.changes)
            self._changes.known[asked.method] = max(known, self._changes.known.get(asked.method, 0))

    def next(self, asked: Asked, result: Mapping[str, Any]) -> bytes | None:
        """Return the request for the next page or list, None after the last one."""
        assert asked.own is not None
        page, more = asked.own
        cursor = result.get("nextCursor")
        if type(cursor) is str and page < _MOST_PAGES:
            return self._request(asked.method, cursor, page + 1, more)
        return self._request(more[0], None, 1, more[1:]) if more else None

    def problem(self, method: str) -> str | None:
        """Return why something may not be used now that a request is about."""
        if not any(self._changes.is_stale(each) for each in _USES.get(method, ())):
            return None
        return (
            f"Blocked by policy (the server '{self._talk.judge.server}' has announced that what it"
            " offers has changed, and has not listed it yet; list it, or try again)"
        )

    def delays(self, method: str) -> bool:
        """Tell whether a request should wait until an announced list is there."""
        return any(self._changes.is_stale(each) for each in _USES.get(method, ()))

    def is_waiting(self) -> bool:
        """Tell whether any list is awaited."""
        return bool(self._changes.announced) and any(
            self._changes.is_stale(each) for each in self._changes.announced
        )

    def _request(self, method: str, cursor: str | None, page: int, more: tuple[str, ...]) -> bytes:
        id_ = f"nacre-list-{secrets.token_hex(8)}"
        params: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        if self._talk.opening:
            params["_meta"] = dict(self._talk.opening)
        subject = Subject("method", method, self._talk.judge.server, {"cursor": cursor})
        asked = Asked(
            method, id_, bool(self._talk.opening), Call(subject=subject), own=(page, more)
        )
        self._talk.up.add(self.asked(asked))
        return strict_json.encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
