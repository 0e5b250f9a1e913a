"""Lists that are asked for here, and awaited by calls that use what they hold.

A client lists again when it likes, or never. Until a list has been compared with the pins, nobody
knows whether a tool is still the one that was trusted. So a list that the server has announced is
asked for at once, and one that a session has not seen is asked for before its first call.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nacre.core.errors import NacreError
from nacre.firewall.enforce.conversation import Asked, Conversation
from nacre.firewall.enforce.judge import Call
from nacre.firewall.enforce.message import LISTS
from nacre.firewall.enforce.pin_check import Trust
from nacre.firewall.pins import PinKind
from nacre.firewall.rules.rule import Subject
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


@dataclass(slots=True)
class Session:
    """The lists that one session with a server has given, and those that we asked for.

    Conversations of a caller share it where the server has no sessions.
    """

    begun: set[str] = field(default_factory=set)  # the first page was compared
    compared: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)  # by us
    failed: set[str] = field(default_factory=set)

    def clear(self) -> None:
        """Begin anew: what was compared before counts no more."""
        for lists in (self.begun, self.compared, self.asked, self.failed):
            lists.clear()


class Relisting:
    """Asks for lists in one conversation."""

    def __init__(
        self, talk: Conversation, trust: Trust, changes: Changes, session: Session
    ) -> None:
        self._talk = talk
        self._trust = trust
        self._changes = changes
        self.session = session

    # A new session.

    def opened(self) -> None:
        """Note that the client opens a session: its lists have to be compared anew."""
        self.session.clear()

    def first(self, method: str) -> bytes | None:
        """Return the request for the lists that a call needs and that its session lacks.

        None where they are on their way already, to us or to the client.
        """
        lists = [each for each in _USES.get(method, ()) if self._is_missing(each)]
        if any(each in self.session.asked or self._talk.up.has(each) for each in lists):
            return None
        self.session.asked.update(lists)
        return self._request(lists[0], None, 1, tuple(lists[1:])) if lists else None

    def failed(self, asked: Asked) -> None:
        """Note that a list that we asked for does not come, nor those after it."""
        assert asked.own is not None
        self.session.failed.update((asked.method, *asked.own[1]))

    def _is_missing(self, method: str) -> bool:
        """Tell whether a list was pinned once, and not compared in this session."""
        if method in self.session.compared or self._talk.pins is None:
            return False
        try:
            if self._talk.judge.policy().settings.pins == "off":
                return False
        except NacreError:
            return False  # without a policy nothing passes anyway
        return self._trust.is_known(_KINDS[method])

    # Lists that a server announces.

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
            self.session.begun.add(asked.method)
        if result.get("nextCursor") is None:
            if asked.method in self.session.begun:
                self.session.compared.add(asked.method)
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
        lists, server = _USES.get(method, ()), self._talk.judge.server
        if any(self._changes.is_stale(each) for each in lists):
            return (
                f"Blocked by policy (the server '{server}' has announced that what it"
                " offers has changed, and has not listed it yet; list it, or try again)"
            )
        if any(self._is_missing(each) for each in lists):
            self.session.asked.difference_update(self.session.failed)
            self.session.failed.clear()
            return (
                f"Blocked by policy (the server '{server}' has not listed in this session what it"
                " offers; list it, or try again)"
            )
        return None

    def is_current(self, method: str) -> bool:
        """Tell whether the lists that a request relies on have been compared."""
        return not any(
            self._changes.is_stale(each) or self._is_missing(each) for each in _USES.get(method, ())
        )

    def delays(self, method: str) -> bool:
        """Tell whether a request should wait until a list is there."""
        return any(
            self._changes.is_stale(each)
            or (each not in self.session.failed and self._is_missing(each))
            for each in _USES.get(method, ())
        )

    def delayed(self) -> list[str]:
        """Return the methods whose requests should wait."""
        return [method for method in _USES if self.delays(method)]

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
