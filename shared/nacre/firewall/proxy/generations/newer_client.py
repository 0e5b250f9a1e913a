"""A client of the stateless generation in front of a server that wants a session.

The session is opened with `initialize` once, with what the client's first request says about
itself. A question that the server asks during a call ends the call for the client, which makes it
again with the answer, while the server's call goes on.
"""

import secrets
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any

from nacre.core.errors import (
    InvalidParamsError,
    MalformedMessageError,
    NacreError,
    RelayedError,
    UnknownMethodError,
    UnsupportedVersionError,
)
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import (
    LARGE_RESULT_BYTES,
    MAX_IN_FLIGHT,
    PARKED_CALLS,
    PARKED_SECONDS,
    UPSTREAM_QUESTIONS,
)
from nacre.firewall.content.digests import digest
from nacre.firewall.enforce.json_edits import with_value, without_members
from nacre.firewall.enforce.message import DECIDED_DOWN, DECIDED_UP, Key, Wire, key_or_none, parse
from nacre.firewall.proxy.generations.newer_results import marked_as_complete, newer_answer
from nacre.firewall.proxy.generations.newer_subscriptions import Subscriptions
from nacre.firewall.proxy.generations.steps import (
    OF_CLIENTS,
    OF_SERVERS,
    OwnIds,
    Peer,
    Step,
    can_answer,
    cancellation,
    capabilities_in,
    encoded,
    encoded_key,
    key,
    named_client,
    params_of,
    plain,
    refused,
    request,
    wire_of,
)
from nacre.firewall.proxy.upstream.message_ids import id_of_large_response
from nacre.protocol.context import LOG_LEVELS
from nacre.protocol.messages import answer
from nacre.protocol.results import Results, cacheable
from nacre.protocol.versions import (
    LEGACY_VERSIONS,
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_VERSION,
    MODERN,
)

_RESERVED = "io.modelcontextprotocol/"  # members of `_meta` that only this generation has
_GONE = frozenset(
    (
        *("initialize", "ping", "logging/setLevel", "resources/subscribe"),
        *("resources/unsubscribe", "tasks/get", "tasks/update", "tasks/cancel", "tasks/result"),
        "tasks/list",
    )
)
_REJECTED = RelayedError(-1, "The client cannot be asked now")
_STATE = "'requestState' was not issued here or has expired; start the call again"


@dataclass(slots=True)
class _Question:
    """A request of the server to the client that is not answered yet."""

    id: Key
    method: str
    params: dict[str, Any]


@dataclass(slots=True)
class _Running:
    """A request that the server works on, and the request of the client that waits for it."""

    id: Key
    client_id: Key | None  # None while the client is asked
    method: str
    digest: str
    capabilities: Mapping[str, Any]
    log_level: str | None
    token: object = None  # for progress, as the server has it
    client_token: object = None
    asked: int = 0
    open: dict[str, _Question] = field(default_factory=dict)
    answer: bytes | None = None  # that came while the client was asked
    unsent: bytes | None = None  # the request, if the client is asked first
    until: float = 0.0


class NewerClient:
    """Translates the messages of one session. `tick` returns the time in seconds."""

    def __init__(self, tick: Callable[[], float] = monotonic) -> None:
        self._tick = tick
        self._ids = OwnIds()
        self._opening: str | None = None
        self._offer: dict[str, Any] | None = None  # the server's answer to `initialize`
        self._results = Results(Peer("unknown"))
        self._early: dict[Key, bytes] = {}
        self._waiting: list[bytes] = []
        self._running: dict[Key, _Running] = {}
        self._parked: dict[str, _Running] = {}
        self._subscriptions = Subscriptions()
        self._own: set[Key] = set()
        self._has_fallen_back = False
        self._roots: list[_Question] = []  # that the server asked for outside any call
        self._level: str | None = None

    def begin(self, early: Mapping[Key, bytes], again: Iterable[bytes]) -> list[Step]:
        """Open the session for requests that are repeated in the server's generation.

        `early` are requests that the server has got in the client's generation.
        """
        self._early = dict(early)
        return [step for raw in again for step in self.from_client(raw)]

    @property
    def waits(self) -> bool:
        """True while requests of the client wait for the session."""
        return bool(self._waiting or self._early)

    # From the client.

    def from_client(self, raw: bytes) -> list[Step]:
        """Translate a message of the client."""
        if self._has_fallen_back:
            return [Step("server", raw)]
        wire = wire_of(raw)
        if wire is None:
            return self._unread(raw)
        if wire.method is None:
            return [Step("server", raw)]
        if wire.method == "initialize" and wire.id is not None and META_VERSION not in wire.meta:
            return self._fall_back(raw)
        if wire.id is None:
            return self._notified(wire)
        id_ = key(wire.id)
        try:
            return self._requested(wire, id_)
        except NacreError as error:
            return [Step("client", refused(id_, error, modern=True))]

    def _fall_back(self, raw: bytes) -> list[Step]:
        """Let a client that has waited too long for the server open the session itself."""
        self._has_fallen_back = True
        self._waiting.clear()
        self._early.clear()
        given_up = [step for state in list(self._parked) for step in self._given_up(state)]
        self._subscriptions.clear()
        self._roots.clear()
        return [*given_up, Step("server", raw)]

    def _unread(self, raw: bytes) -> list[Step]:
        if raw.lstrip()[:1] == b"[":
            error = MalformedMessageError("batches are not taken; send one message at a time")
            return [Step("client", refused(None, error, modern=True))]
        return [Step("server", raw)]  # the guard says why it is refused

    def _requested(self, wire: Wire, id_: Key) -> list[Step]:
        self._check(wire, id_)
        if self._offer is None:
            return self._wait(wire)
        method, params = str(wire.method), params_of(wire)
        if method == "server/discover":
            return [Step("client", answer(id_, self._discovered()).body)]
        if method == "subscriptions/listen":
            return self._listen(id_, params)
        if method in DECIDED_UP and ("requestState" in params or "inputResponses" in params):
            return self._continued(wire, id_, params)
        return self._forwarded(wire, id_, params)

    def _check(self, wire: Wire, id_: Key) -> None:
        """Refuse a request that this generation does not have, or that runs already."""
        version = wire.meta.get(META_VERSION)
        if version != MODERN:
            named = version if isinstance(version, str) else "none"
            raise UnsupportedVersionError(named[:40], supported=(MODERN,))
        if wire.method in _GONE:
            raise UnknownMethodError(str(wire.method))
        runs = any(running.client_id == id_ for running in self._running.values())
        if runs or any(id_ in ids for ids in (self._running, self._subscriptions, self._early)):
            raise MalformedMessageError("a request with this 'id' is still running")

    def _wait(self, wire: Wire) -> list[Step]:
        """Keep a request until the session is open; the first one opens it."""
        if len(self._waiting) >= MAX_IN_FLIGHT:
            raise MalformedMessageError(f"{MAX_IN_FLIGHT} requests are running already")
        self._waiting.append(wire.raw)
        if self._opening is not None:
            return []
        self._opening = self._ids.new()
        declared = plain(wire.meta.get(META_CAPABILITIES))
        opening = {
            "protocolVersion": LEGACY_VERSIONS[0],
            "capabilities": capabilities_in(declared, OF_CLIENTS),
            "clientInfo": named_client(plain(wire.meta.get(META_CLIENT))),
        }
        return [Step("server", request(self._opening, "initialize", opening))]

    def _forwarded(self, wire: Wire, id_: Key, params: Mapping[str, Any]) -> list[Step]:
        ended = [state for state, parked in self._parked.items() if parked.until <= self._tick()]
        steps = [step for state in ended for step in self._given_up(state)]
        running = self._new_running(wire, id_, params)
        raw = _without_reserved(wire)
        if self._roots and wire.method in DECIDED_UP and "roots" in running.capabilities:
            running.unsent = raw
            for question in self._roots:
                self._open_question(running, question)
            self._roots.clear()
            self._running[id_] = running
            return [*steps, *self._park(running)]
        self._running[id_] = running
        return [*steps, *self._chosen_level(running), Step("server", raw)]

    def _new_running(self, wire: Wire, id_: Key, params: Mapping[str, Any]) -> _Running:
        meta = wire.meta
        declared, level = meta.get(META_CAPABILITIES), meta.get(META_LOG_LEVEL)
        token = meta.get("progressToken")
        return _Running(
            id_,
            id_,
            str(wire.method),
            _digest(wire, params),
            declared if type(declared) is dict else {},
            level if level in LOG_LEVELS else None,
            token=token,
            client_token=token,
        )

    def _chosen_level(self, running: _Running) -> list[Step]:
        """Lower the level of the server's log for a request that wants more than it sends."""
        level = running.log_level
        if level is None or "logging" not in self._offers():
            return []
        if self._level is not None and _severity(self._level) <= _severity(level):
            return []
        self._level = level
        return [self._own_request("logging/setLevel", {"level": level})]

    def _notified(self, wire: Wire) -> list[Step]:
        if wire.method != "notifications/cancelled":
            return [Step("server", _without_reserved(wire))]
        params = params_of(wire)
        id_ = key_or_none(params.get("requestId"))
        return [] if id_ is None else self._cancelled(id_, params.get("reason"))

    def _cancelled(self, id_: Key, reason: object) -> list[Step]:
        self._waiting = [raw for raw in self._waiting if _id_in(raw) != id_]
        if self._early.pop(id_, None) is not None:  # it is not made again
            return [Step("server", cancellation(id_, reason))]
        if id_ in self._subscriptions:
            return [
                self._own_request("resources/unsubscribe", {"uri": uri})
                for uri in self._subscriptions.close(id_)
            ]
        for running in self._running.values():
            if running.client_id == id_:
                del self._running[running.id]
                return [Step("server", cancellation(running.id, reason))]
        return []

    # Questions of the server, and their answers.

    def _asked(self, wire: Wire, running: _Running | None) -> list[Step]:
        """Take a question, and end the client's request with it."""
        question = _Question(key(wire.id), str(wire.method), plain(params_of(wire)))
        is_outside = running is None and not self._calls()
        if is_outside and question.method == "roots/list" and len(self._roots) < UPSTREAM_QUESTIONS:
            self._roots.append(question)  # the next call asks for them
            return []
        if (
            running is None
            or not can_answer(running.capabilities, question.method, question.params)
            or running.asked >= UPSTREAM_QUESTIONS
        ):
            return [Step("server", _declined(question))]
        self._open_question(running, question)
        return [] if running.client_id is None else self._park(running)

    def _open_question(self, running: _Running, question: _Question) -> None:
        running.asked += 1
        question.params.pop("_meta", None)
        question.params.pop("task", None)  # only the older generation had such questions
        running.open[f"question-{running.asked}"] = question

    def _calls(self) -> list[_Running]:
        return [running for running in self._running.values() if running.method in DECIDED_UP]

    def _only_call(self) -> _Running | None:
        """Return the only running call, to which a question must belong."""
        calls = self._calls()
        return calls[0] if len(calls) == 1 else None

    def _park(self, running: _Running) -> list[Step]:
        """End the client's request with the open questions."""
        oldest = list(self._parked)[: max(0, len(self._parked) - PARKED_CALLS + 1)]
        steps = [step for state in oldest for step in self._given_up(state)]
        state = secrets.token_urlsafe(24)
        running.until = self._tick() + PARKED_SECONDS
        self._parked[state] = running
        asks = {
            name: {"method": question.method, "params": question.params}
            for name, question in running.open.items()
        }
        result = {"resultType": "input_required", "inputRequests": asks, "requestState": state}
        assert running.client_id is not None
        body = answer(running.client_id, self._results.encode(result, modern=True)).body
        running.client_id = None
        return [*steps, Step("client", body)]

    def _given_up(self, state: str) -> list[Step]:
        """Cancel a call whose client has not come back."""
        running = self._parked.pop(state)
        if self._running.pop(running.id, None) is None or running.unsent is not None:
            return [Step("server", _declined(question)) for question in running.open.values()]
        return [Step("server", cancellation(running.id, "the client has not answered"))]

    def _continued(self, wire: Wire, id_: Key, params: Mapping[str, Any]) -> list[Step]:
        """Give the server the client's answers, and go on with the call."""
        state = params.get("requestState")
        running = self._parked.get(state) if type(state) is str else None
        if running is None or running.digest != _digest(wire, params):
            raise InvalidParamsError(_STATE)
        answers = params.get("inputResponses")
        answers = answers if type(answers) is dict else {}
        results = self._checked(running, answers)
        del self._parked[str(state)]
        running.client_id = id_
        running.client_token = wire.meta.get("progressToken")
        steps = []
        for name, result in results.items():
            question = running.open.pop(name)
            steps.append(Step("server", answer(question.id, result).body))
        if running.open:
            return [*steps, *self._park(running)]
        if running.unsent is not None:
            steps += [*self._chosen_level(running), Step("server", running.unsent)]
            running.unsent = None
        if running.answer is not None:
            steps += self._finished(running, running.answer)
        return steps

    def _checked(self, running: _Running, answers: Mapping[str, Any]) -> dict[str, bytes]:
        from nacre.protocol.client_answers import check_answer  # noqa: PLC0415 - see there

        results = {}
        for name, question in running.open.items():
            if name not in answers:
                continue
            result = plain(answers[name])
            if not isinstance(result, dict):
                raise InvalidParamsError(f"'inputResponses.{name}' must be an object")
            message = {"method": question.method, "params": question.params}
            check_answer(name, message, result)
            results[name] = encoded(result)
        return results

    def _listen(self, id_: Key, params: dict[str, Any]) -> list[Step]:
        acknowledgement, uris = self._subscriptions.open(id_, params, self._offers())
        subscribing = [self._own_request("resources/subscribe", {"uri": uri}) for uri in uris]
        return [Step("client", acknowledgement), *subscribing]

    # From the server.

    def from_server(self, raw: bytes) -> list[Step]:
        """Translate a message that the guard lets pass to the client."""
        if self._has_fallen_back:
            id_ = _answered_id(raw)
            is_own = id_ is not None and (id_ == self._opening or id_ in self._own)
            return [] if is_own else [Step("client", raw)]
        if len(raw) >= LARGE_RESULT_BYTES:
            large = self._large(raw)
            if large is not None:
                return large
        wire = wire_of(raw)
        if wire is None:
            return self._batch(raw)
        if wire.method is None:
            return self._answered(wire)
        if wire.id is None:
            return self._told(wire)
        if wire.method in DECIDED_DOWN:
            return self._asked(wire, self._only_call())
        if wire.method == "ping":
            return [Step("server", answer(key(wire.id), b"{}").body)]
        error = UnknownMethodError(wire.method)
        return [Step("server", refused(key(wire.id), error, modern=False))]

    def asked(self, raw: bytes, about: bytes) -> list[Step]:
        """Take a question of the guard about a message that it holds."""
        if self._has_fallen_back:
            return [Step("client", raw)]
        message, wire = wire_of(about), wire_of(raw)
        if message is None or wire is None or message.id is None:
            return []
        running = self._running.get(key(message.id)) if message.method in DECIDED_UP else None
        return self._asked(wire, running or self._only_call())

    def _batch(self, raw: bytes) -> list[Step]:
        """Translate a batch of the server, message by message."""
        try:
            values = parse(raw)
        except NacreError:
            return [Step("client", raw)]
        if type(values) is not list:
            return [Step("client", raw)]
        return [
            step
            for value in values
            if type(value) is dict
            for step in self.from_server(encoded(plain(value)))
        ]

    def _answered(self, wire: Wire) -> list[Step]:
        id_ = key(wire.id)
        if id_ == self._opening and self._offer is None:
            return self._opened(wire)
        if id_ in self._own:
            self._own.discard(id_)
            return []
        early = self._early.pop(id_, None)
        if early is not None:
            if wire.error is not None:
                return self.from_client(early)  # it was not taken in the client's generation
            first = wire_of(early)
            assert first is not None
            self._running[id_] = self._new_running(first, id_, params_of(first))
        running = self._running.get(id_)
        if running is None:
            return [Step("client", wire.raw)]
        if running.client_id is None:
            running.answer = wire.raw
            return []
        return self._finished(running, wire.raw)

    def _opened(self, wire: Wire) -> list[Step]:
        waiting, self._waiting = self._waiting, []
        if wire.error is not None:
            self._opening = None  # the next request tries again
            ids = [id_ for raw in waiting if (id_ := _id_in(raw)) is not None]
            return [Step("client", with_value(wire.raw, ("id",), encoded_key(id_))) for id_ in ids]
        self._offer = plain(wire.result)
        info = self._offer.get("serverInfo")
        info = info if isinstance(info, dict) else {}
        title = info.get("title")
        peer = Peer(
            str(info.get("name", "unknown")),
            str(info.get("version", "")),
            title if isinstance(title, str) else None,
        )
        self._results = Results(peer)
        greeting = encoded({"jsonrpc": "2.0", "method": "notifications/initialized"})
        steps = [Step("server", greeting)]
        for raw in waiting:
            steps += self.from_client(raw)
        return steps

    def _offers(self) -> dict[str, Any]:
        offered = (self._offer or {}).get("capabilities")
        return capabilities_in(offered, OF_SERVERS)

    def _discovered(self) -> bytes:
        assert self._offer is not None
        result: dict[str, Any] = {"supportedVersions": [MODERN], "capabilities": self._offers()}
        instructions = self._offer.get("instructions")
        if isinstance(instructions, str):
            result["instructions"] = instructions
        return self._results.encode(cacheable(result, modern=True), modern=True)

    def _finished(self, running: _Running, raw: bytes) -> list[Step]:
        """Return the answer to the client's request."""
        self._running.pop(running.id, None)
        assert running.client_id is not None
        body = newer_answer(
            raw, running.method, self._results, id_=running.id, client_id=running.client_id
        )
        return [Step("client", body)]

    def _large(self, raw: bytes) -> list[Step] | None:
        """Return the answer with a large result, without parsing it; None for other messages."""
        id_ = id_of_large_response(raw)
        running = None if id_ is None else self._running.get(key(id_))
        if running is None or marked_as_complete(raw, running.method) is None:
            return None
        if running.client_id is None:
            running.answer = raw
            return []
        return self._finished(running, raw)

    def _told(self, wire: Wire) -> list[Step]:
        addressed = self._subscriptions.addressed(wire)
        if addressed is not None:
            return [Step("client", raw) for raw in addressed]
        method = str(wire.method)
        if method == "notifications/progress":
            return self._progressed(wire)
        if method == "notifications/message":
            level = params_of(wire).get("level")
            wants = any(
                running.log_level is not None
                and level in LOG_LEVELS
                and _severity(running.log_level) <= _severity(str(level))
                for running in self._running.values()
            )
            return [Step("client", wire.raw)] if wants else []
        if method == "notifications/cancelled":
            return self._withdrawn(params_of(wire).get("requestId"))
        if method == "notifications/elicitation/complete":
            return []
        return [Step("client", wire.raw)]

    def _progressed(self, wire: Wire) -> list[Step]:
        token = params_of(wire).get("progressToken")
        for running in self._running.values():
            if not _is_same(running.token, token):
                continue
            if running.client_id is None or running.client_token is None:
                return []
            if _is_same(running.client_token, token):
                return [Step("client", wire.raw)]
            spelled = encoded_key(plain(running.client_token))
            return [Step("client", with_value(wire.raw, ("params", "progressToken"), spelled))]
        return [Step("client", wire.raw)]

    def _withdrawn(self, id_: object) -> list[Step]:
        """Forget a question that the server withdraws."""
        withdrawn = key_or_none(id_)
        if withdrawn is None:
            return []
        self._roots = [question for question in self._roots if question.id != withdrawn]
        for running in self._running.values():
            running.open = {
                name: question
                for name, question in running.open.items()
                if question.id != withdrawn
            }
        return []

    # Own requests.

    def _own_request(self, method: str, params: Mapping[str, Any]) -> Step:
        id_ = self._ids.new()
        self._own.add(id_)
        return Step("server", request(id_, method, params))


def _without_reserved(wire: Wire) -> bytes:
    """Return a message without the members that only the newer generation has."""
    names = [name for name in wire.meta if name.startswith(_RESERVED)]
    if not names:
        return wire.raw
    if len(names) == len(wire.meta):
        return without_members(wire.raw, ("params",), ("_meta",))
    return without_members(wire.raw, ("params", "_meta"), names)


def _digest(wire: Wire, params: Mapping[str, Any]) -> str:
    of_one_round = ("_meta", "inputResponses", "requestState")
    salient = {name: value for name, value in params.items() if name not in of_one_round}
    return digest([str(wire.method), salient])


def _declined(question: _Question) -> bytes:
    """Return the answer to a question that the client cannot be asked."""
    if question.method == "elicitation/create":
        return answer(question.id, b'{"action":"decline"}').body
    return refused(question.id, _REJECTED, modern=False)


def _id_in(raw: bytes) -> Key | None:
    wire = wire_of(raw)
    return None if wire is None or wire.id is None else key(wire.id)


def _answered_id(raw: bytes) -> Key | None:
    """Return the id of the request that a message answers; None for other messages."""
    id_ = id_of_large_response(raw) if len(raw) >= LARGE_RESULT_BYTES else None
    if id_ is not None:
        return key(id_)
    wire = wire_of(raw)
    is_answer = wire is not None and wire.kind == "response" and wire.id is not None
    return key(wire.id) if wire is not None and is_answer else None


def _is_same(left: object, right: object) -> bool:
    """Tell whether two tokens are the same: 1 is not "1"."""
    return type(left) is type(right) and left is not None and left == right


def _severity(level: str) -> int:
    return LOG_LEVELS.index(level)
