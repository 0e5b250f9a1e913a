"""The state of one conversation: its open requests, and what both sides agreed on."""

from collections.abc import Mapping
from typing import Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.core.limits import MAX_IN_FLIGHT
from nacre.firewall.audit.entry import Direction, Outcome
from nacre.firewall.enforce.content_check import Screen
from nacre.firewall.enforce.judge import Call, Judge, Running
from nacre.firewall.enforce.message import Id, Key, Wire, key_of
from nacre.firewall.pins import Pins
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.arguments.base_folders import roots_in, with_roots
from nacre.firewall.rules.rule import NOTHING, Subject
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.versions import META_CAPABILITIES

_MAX_STATES = 1000  # states of questions within approved calls


@dataclass(slots=True)
class OpenRequest:
    """A request that was forwarded and has no answer yet."""

    method: str
    id: Id
    is_modern: bool
    call: Call | None = None
    granted: bool = False
    # For a list request: how often the list had been announced as changed.
    changes: int = 0
    # For a request of the guard itself: the number of its page, and the lists to request next.
    own: tuple[int, tuple[str, ...]] | None = None
    # What limits count of it.
    running: Running | None = None

    def end(self, returned: int = 0) -> None:
        """End it for its limits, with the bytes of its result."""
        if self.running is not None:
            self.running.end(returned)


class OpenRequests:
    """The requests in one direction that have no answer yet."""

    def __init__(self) -> None:
        self._requests: dict[Key, OpenRequest] = {}
        self._given_up: BoundedCache[Key, None] = BoundedCache(MAX_IN_FLIGHT)

    def problem(self, id_: Id) -> str | None:
        """Return the reason why a request with this id is refused now, or None."""
        key = int(id_) if type(id_) is JsonNumber else id_  # as key_of does
        if key in self._requests:
            return "a request with this 'id' is still running"
        if key in self._given_up:
            return "this 'id' was used for a request that was cancelled"
        if len(self._requests) >= MAX_IN_FLIGHT:
            return f"{MAX_IN_FLIGHT} requests are running already"
        return None

    def add(self, request: OpenRequest) -> None:
        """Add a request that was forwarded."""
        id_ = request.id
        self._requests[int(id_) if type(id_) is JsonNumber else id_] = request

    def get(self, id_: Id) -> OpenRequest | None:
        """Return the request with this id."""
        return self._requests.get(int(id_) if type(id_) is JsonNumber else id_)

    def has(self, method: str) -> bool:
        """Tell whether a request of this method is open."""
        return any(request.method == method for request in self._requests.values())

    def take(self, id_: Id) -> OpenRequest | None:
        """Remove, end and return the request with this id, because each is answered once."""
        request = self.take_running(id_)
        if request is not None:
            request.end()
        return request

    def take_running(self, id_: Id) -> OpenRequest | None:
        """Do the same without ending it for its limits, because its result is still to be read."""
        return self._requests.pop(int(id_) if type(id_) is JsonNumber else id_, None)

    def end_all(self) -> None:
        """Remove and end all requests but the guard's own."""
        for key, request in list(self._requests.items()):
            if request.own is None:
                del self._requests[key]
                request.end()

    def give_up(self, id_: object) -> None:
        """Close a request without an answer; a late answer is dropped."""
        if not isinstance(id_, str):
            return
        try:
            key = key_of(id_)
        except ValueError:  # a number that is not a valid id
            return
        request = self._requests.pop(key, None)
        if request is not None:
            request.end()
            self._given_up[key] = None


@dataclass(slots=True)
class ReceivedContent:
    """The origins of what a client has received here; a proxy knows of its own server only."""

    origins: frozenset[str] = NOTHING

    def add(self, server: str) -> None:
        """Remember that a result of a server is handed over."""
        from nacre.core.origins import external  # noqa: PLC0415 - once for each client

        self.origins |= {str(external(server))}


@dataclass(slots=True)
class Conversation:
    """One client and one server, with the judge between them."""

    judge: Judge
    screen: Screen
    pins: Pins | None = None
    states: RequestStates | None = None
    principal: str = "local"
    being: str = ""
    version: str | None = None
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    up: OpenRequests = field(default_factory=OpenRequests)
    down: OpenRequests = field(default_factory=OpenRequests)
    # The states of servers' questions within calls that were approved, and those calls.
    continued: BoundedCache[str, str] = field(default_factory=lambda: BoundedCache(_MAX_STATES))
    schemas: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    # For each tool, the arguments that are paths by its schema.
    paths: dict[str, frozenset[str]] = field(default_factory=dict)
    # The folders that the client gave the server when it asked for roots.
    roots: dict[str, None] = field(default_factory=dict)
    _known_roots: int = 0
    received: ReceivedContent = field(default_factory=ReceivedContent)
    # The digests of the lists that were seen last.
    seen: dict[str, str] = field(default_factory=dict)
    # The members about the client that each stateless request carries, from the last request.
    opening: dict[str, Any] = field(default_factory=dict)

    def for_another_conversation(self) -> "Conversation":
        """Return a new conversation of the same caller, with its own open requests."""
        return Conversation(
            *(self.judge, self.screen, self.pins, self.states, self.principal, self.being),
            continued=self.continued,
            schemas=self.schemas,
            paths=self.paths,
            roots=self.roots,
            _known_roots=self._known_roots,
            received=self.received,
            seen=self.seen,
            opening=dict(self.opening),
        )

    def with_received(self, subject: Subject) -> Subject:
        """Return a subject with what its client has received, if a rule depends on that."""
        return self.judge.with_received(subject, lambda _: self.received.origins)

    def hand_over(self) -> None:
        """Remember that the client has received a result of the server."""
        if not self.received.origins:
            self.received.add(self.judge.server)

    def learn_roots(self, answer: Any) -> None:
        """Remember the roots in a client's answer, before the server has it."""
        self.roots.update(dict.fromkeys(roots_in(answer)))

    def refresh_bases(self) -> None:
        """Use the roots that the client gave since the last call in decisions."""
        roots = tuple(self.roots)
        if len(roots) != self._known_roots:
            where = with_roots(self.judge.where, roots[self._known_roots :])
            self.judge = replace(self.judge, where=where)
            self._known_roots = len(roots)

    def can_elicit(self, wire: Wire) -> bool:
        """Tell whether the person behind the client can be shown a form for this request."""
        if wire.is_modern:
            return self.states is not None and _shows_forms(wire.meta.get(META_CAPABILITIES))
        return self.shows_forms()

    def shows_forms(self) -> bool:
        """Tell whether the client said in `initialize` that it shows forms."""
        return _shows_forms(self.capabilities)

    def note(
        self,
        outcome: Outcome,
        method: str,
        *,
        sender: Direction,
        request: Id | None = None,
        **more: Any,
    ) -> bool:
        """Record a message that needed no decision; if that returns False, it must not pass."""
        return self.judge.note(
            outcome,
            method,
            sender=sender,
            call=Call(
                subject=Subject("method", method, "", {}),
                principal=self.principal,
                being=self.being,
            ),
            request=None if request is None else str(request),
            **more,
        )

    def enforces(self) -> bool:
        """Return whether denials are enforced; in monitor mode they are only recorded."""
        return self.judge.policy().settings.mode == "enforce"


def _shows_forms(capabilities: object) -> bool:
    if not capabilities or not isinstance(capabilities, Mapping):
        return False
    offered = capabilities.get("elicitation")
    return isinstance(offered, Mapping) and (not offered or "form" in offered)
