"""What a guard remembers of one conversation: who waits for what, and what was agreed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nacre.core.limits import MAX_IN_FLIGHT
from nacre.firewall.enforce.content_check import Screen
from nacre.firewall.enforce.judge import Call, Judge
from nacre.firewall.enforce.message import Id, Wire
from nacre.firewall.pins import Pins
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.firewall.rules.arguments.base_folders import roots_in, with_roots
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.versions import META_CAPABILITIES

Key = int | str


def key_of(id_: Id) -> Key:
    """Return an id as the other side compares it: 1 is not "1"."""
    return int(id_) if isinstance(id_, JsonNumber) else id_


@dataclass(slots=True)
class Asked:
    """A request that has gone on and has no answer yet."""

    method: str
    id: Id
    is_modern: bool
    call: Call | None = None
    granted: bool = False
    # Of a list: how often it had been announced as changed; and of one that we ask for
    # ourselves, the number of its page and the lists to ask for after it.
    changes: int = 0
    own: tuple[int, tuple[str, ...]] | None = None


class Waiters:
    """The requests of one direction that wait for an answer."""

    def __init__(self) -> None:
        self._asked: dict[Key, Asked] = {}
        self._given_up: dict[Key, None] = {}

    def problem(self, id_: Id) -> str | None:
        """Return why a request with this id cannot be taken now."""
        key = int(id_) if type(id_) is JsonNumber else id_  # as key_of does
        if key in self._asked:
            return "a request with this 'id' is still running"
        if key in self._given_up:
            return "this 'id' was used for a request that was cancelled"
        if len(self._asked) >= MAX_IN_FLIGHT:
            return f"{MAX_IN_FLIGHT} requests are running already"
        return None

    def add(self, asked: Asked) -> None:
        """Wait for an answer."""
        id_ = asked.id
        self._asked[int(id_) if type(id_) is JsonNumber else id_] = asked

    def asked(self, id_: Id) -> Asked | None:
        """Return what this would answer."""
        return self._asked.get(int(id_) if type(id_) is JsonNumber else id_)

    def has(self, method: str) -> bool:
        """Tell whether a request of this method waits."""
        return any(asked.method == method for asked in self._asked.values())

    def take(self, id_: Id) -> Asked | None:
        """Return what this answers; each request is answered once."""
        return self._asked.pop(int(id_) if type(id_) is JsonNumber else id_, None)

    def give_up(self, id_: object) -> None:
        """Wait no longer; a late answer will be nobody's."""
        if not isinstance(id_, str):
            return
        try:
            key = key_of(id_)
        except ValueError:  # a number that is no id
            return
        if self._asked.pop(key, None) is not None:
            self._given_up[key] = None
            if len(self._given_up) > MAX_IN_FLIGHT:
                del self._given_up[next(iter(self._given_up))]


@dataclass(slots=True)
class Conversation:
    """One client and one server, and what stands between them."""

    judge: Judge
    screen: Screen
    pins: Pins | None = None
    states: RequestStates | None = None
    principal: str = "local"
    being: str = ""
    version: str | None = None
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    up: Waiters = field(default_factory=Waiters)
    down: Waiters = field(default_factory=Waiters)
    # The states of servers' questions within calls that were approved, and those calls.
    continued: dict[str, str] = field(default_factory=dict)
    schemas: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    # Of each tool, the arguments of which its schema says that they are paths.
    paths: dict[str, frozenset[str]] = field(default_factory=dict)
    # The folders that the client gave the server when it asked for roots.
    roots: dict[str, None] = field(default_factory=dict)
    _known_roots: int = 0
    # The digests of the lists as they were last.
    seen: dict[str, str] = field(default_factory=dict)
    # What each request of the stateless generation says of its client, as the last one did.
    opening: dict[str, Any] = field(default_factory=dict)

    def beside(self) -> "Conversation":
        """Return a conversation of the same caller, with ids of its own."""
        return Conversation(
            *(self.judge, self.screen, self.pins, self.states, self.principal, self.being),
            continued=self.continued,
            schemas=self.schemas,
            paths=self.paths,
            roots=self.roots,
            _known_roots=self._known_roots,
            seen=self.seen,
            opening=dict(self.opening),
        )

    def learn_roots(self, answer: Any) -> None:
        """Remember the roots in a client's answer, before the server has it."""
        self.roots.update(dict.fromkeys(roots_in(answer)))

    def refresh_bases(self) -> None:
        """Let the roots that the client gave meanwhile count for decisions."""
        roots = tuple(self.roots)
        if len(roots) != self._known_roots:
            where = with_roots(self.judge.where, roots[self._known_roots :])
            self.judge = replace(self.judge, where=where)
            self._known_roots = len(roots)

    def can_elicit(self, wire: Wire) -> bool:
        """Tell whether the person behind the client can be shown a form for this request."""
        if wire.is_modern:
            return self.states is not None and _shows_forms(wire.meta.get(META_CAPABILITIES))
        return bool(self.capabilities) and _shows_forms(self.capabilities)

    def enforces(self) -> bool:
        """Whether denials count; else they are only recorded."""
        return self.judge.policy().settings.mode == "enforce"


def _shows_forms(capabilities: object) -> bool:
    if not capabilities or not isinstance(capabilities, Mapping):
        return False
    offered = capabilities.get("elicitation")
    return isinstance(offered, Mapping) and (not offered or "form" in offered)
