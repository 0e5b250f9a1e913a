"""Lists that the guard requests itself, and that calls of the listed things wait for.

A client may list again late or never. Until a list has been compared with the pins, nobody knows
whether a tool is still the one that was trusted. So the guard requests a list as soon as the
server announces a change, and before the first call of a session that has not seen it.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.firewall.enforce.conversation import Conversation, OpenRequest
from nacre.firewall.enforce.judge import Call
from nacre.firewall.enforce.message import LISTS
from nacre.firewall.enforce.pin_check import PinCheck
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
_METHODS_ON_THE_WIRE = tuple((method, method.encode()) for method in _USES)
_MAX_PAGES = 50


@dataclass(slots=True)
class ListChanges:
    """Counts how often each list of a server was announced, and which announcement was seen.

    The conversations of one caller share it.
    """

    announced: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    first_page: dict[str, int] = field(default_factory=dict)

    def is_stale(self, method: str) -> bool:
        """Tell whether a list was announced and has not been seen since."""
        return self.announced.get(method, 0) > self.known.get(method, 0)


@dataclass(slots=True)
class SessionLists:
    """The lists that one session with a server has given, and those that the guard requested.

    Conversations of a caller share it if the server has no sessions.
    """

    begun: set[str] = field(default_factory=set)  # the first page was compared
    compared: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)  # by us
    failed: set[str] = field(default_factory=set)

    def clear(self) -> None:
        """Start again: earlier comparisons do not count for a new session."""
        for lists in (self.begun, self.compared, self.asked, self.failed):
            lists.clear()


class ListRefresh:
    """Requests lists in one conversation."""

    def __init__(
        self,
        conversation: Conversation,
        pin_check: PinCheck,
        changes: ListChanges,
        session: SessionLists,
    ) -> None:
        self._conversation = conversation
        self._pin_check = pin_check
        self._changes = changes
        self.session = session

    # A new session.

    def opened(self) -> None:
        """Note that the client opens a session: its lists have to be compared again."""
        self.session.clear()

    def first(self, method: str) -> bytes | None:
        """Return the request for the lists that a call needs and that its session lacks.

        None when the guard or the client has requested them already.
        """
        lists = [name for name in _USES.get(method, ()) if self._is_missing(name)]
        if any(name in self.session.asked or self._conversation.up.has(name) for name in lists):
            return None
        self.session.asked.update(lists)
        return self._request(lists[0], None, 1, tuple(lists[1:])) if lists else None

    def failed(self, request: OpenRequest) -> None:
        """Note that a requested list will not come, and neither will those after it."""
        assert request.own is not None
        self.session.failed.update((request.method, *request.own[1]))

    def _is_missing(self, method: str) -> bool:
        """Tell whether a list was pinned once, and not compared in this session."""
        if method in self.session.compared or self._conversation.pins is None:
            return False
        try:
            if self._conversation.judge.policy().settings.pins == "off":
                return False
        except NacreError:
            return False  # without a policy nothing passes anyway
        return self._pin_check.is_known(_KINDS[method])

    # Lists that a server announces.

    def announced(self, method: str) -> bytes | None:
        """Note that lists have changed; return the request that asks for the first of them."""
        if self._conversation.judge.policy().settings.pins == "off":
            return None
        lists = [name for name in ANNOUNCED[method] if self._pin_check.is_known(_KINDS[name])]
        for name in lists:
            self._changes.announced[name] = self._changes.announced.get(name, 0) + 1
        return self._request(lists[0], None, 1, tuple(lists[1:])) if lists else None

    def asked(self, request: OpenRequest) -> OpenRequest:
        """Note which announcements came before a request for a list, and return the request."""
        if request.method in LISTS:
            request.changes = self._changes.announced.get(request.method, 0)
        return request

    def seen(self, request: OpenRequest, result: Mapping[str, Any], *, is_first: bool) -> None:
        """Note that a page of a list has been compared with the pins."""
        if is_first:
            self._changes.first_page[request.method] = request.changes
            self.session.begun.add(request.method)
        if result.get("nextCursor") is None:
            if request.method in self.session.begun:
                self.session.compared.add(request.method)
            began = self._changes.first_page.get(request.method, 0)
            announcements = min(began, request.changes)
            self._changes.known[request.method] = max(
                announcements, self._changes.known.get(request.method, 0)
            )

    def next(self, request: OpenRequest, result: Mapping[str, Any]) -> bytes | None:
        """Return the request for the next page or list, None after the last one."""
        assert request.own is not None
        page, more = request.own
        cursor = result.get("nextCursor")
        if type(cursor) is str and page < _MAX_PAGES:
            return self._request(request.method, cursor, page + 1, more)
        return self._request(more[0], None, 1, more[1:]) if more else None

    def problem(self, method: str) -> str | None:
        """Return why the target of a request may not be used now."""
        lists, server = _USES.get(method, ()), self._conversation.judge.server
        if any(self._changes.is_stale(name) for name in lists):
            return (
                f"Blocked by policy (the server '{server}' has announced that what it"
                " offers has changed, and has not listed it yet; list it, or try again)"
            )
        if any(self._is_missing(name) for name in lists):
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
            self._changes.is_stale(name) or self._is_missing(name) for name in _USES.get(method, ())
        )

    def delays(self, method: str) -> bool:
        """Tell whether a request should wait until a list is there."""
        return any(
            self._changes.is_stale(name)
            or (name not in self.session.failed and self._is_missing(name))
            for name in _USES.get(method, ())
        )

    def delayed(self, raw: bytes) -> list[str]:
        """Return the methods that a message names and whose requests should wait."""
        return [
            method
            for method, wire_bytes in _METHODS_ON_THE_WIRE
            if wire_bytes in raw and self.delays(method)
        ]

    def _request(self, method: str, cursor: str | None, page: int, more: tuple[str, ...]) -> bytes:
        id_ = f"nacre-list-{secrets.token_hex(8)}"
        params: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        if self._conversation.opening:
            params["_meta"] = dict(self._conversation.opening)
        subject = Subject("method", method, self._conversation.judge.server, {"cursor": cursor})
        request = OpenRequest(
            method, id_, bool(self._conversation.opening), Call(subject=subject), own=(page, more)
        )
        self._conversation.up.add(self.asked(request))
        return strict_json.encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
