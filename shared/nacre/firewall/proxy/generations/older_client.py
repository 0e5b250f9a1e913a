"""A client that opens a session, in front of a server of the stateless generation.

What the client says about itself in `initialize` goes with each of its requests. If the server ends
a call with questions, the client is asked one by one, and the call is made again with the answers.
"""

from collections.abc import Mapping
from typing import Any

from nacre.core.errors import (
    InvalidParamsError,
    MalformedMessageError,
    NacreError,
    UnknownMethodError,
)
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import FOLLOWED_RESOURCES, MAX_IN_FLIGHT, UPSTREAM_QUESTIONS
from nacre.firewall.enforce.json_edits import members_at, with_members, with_value
from nacre.firewall.enforce.message import DECIDED_DOWN, Key, Wire, key_or_none
from nacre.firewall.proxy.generations.batches import Batches
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
    error_code,
    key,
    named_client,
    params_of,
    plain,
    refused,
    request,
    wire_of,
)
from nacre.protocol.context import capability_of, log_level
from nacre.protocol.dispatch.lists import legacy_tool
from nacre.protocol.encoded_results import Spelled
from nacre.protocol.messages import answer
from nacre.protocol.results import Results, tool_error
from nacre.protocol.versions import (
    META_CAPABILITIES,
    META_CLIENT,
    META_LOG_LEVEL,
    META_SERVER,
    META_SUBSCRIPTION,
    META_VERSION,
    MODERN,
    negotiate,
)

_CHANGES = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
}
_NEW_MEMBERS = ("resultType", "ttlMs", "cacheScope")  # of results, that only the newer one has
_NO_CAPABILITY = -32021  # of the client
_LEVEL = "info"  # for a client that has chosen none, as at our own endpoint


@dataclass(slots=True)
class _Running:
    """A request of the client, and its latest round."""

    id: Key
    client_id: Key
    method: str
    raw: bytes  # in the server's generation
    rounds: int = 0
    state: bytes | None = None
    names: dict[Key, str] = field(default_factory=dict)  # of the open questions, by their ids
    methods: dict[str, str] = field(default_factory=dict)
    answers: dict[str, bytes] = field(default_factory=dict)


class OlderClient:
    """Translates the messages of one session.

    `opening` is the client's `initialize`, and `discovered` the result of `server/discover`.
    """

    def __init__(self, opening: Wire, discovered: Mapping[str, Any]) -> None:
        params = plain(params_of(opening))
        self._version = negotiate(params.get("protocolVersion"))
        self._meta = meta_of(params)
        self._capabilities: Mapping[str, Any] = self._meta[META_CAPABILITIES]
        self._found = plain(discovered)
        offered = self._found.get("capabilities")
        self._offers = capabilities_in(offered, OF_SERVERS)
        meta = self._found.get("_meta")
        info = meta.get(META_SERVER) if isinstance(meta, dict) else None
        self._info = info if isinstance(info, dict) else {"name": "unknown", "version": ""}
        self._results = Results(Peer())  # this generation's results name no server
        self._ids = OwnIds()
        self._level: str | None = None
        self._running: dict[Key, _Running] = {}
        self._questions: dict[Key, _Running] = {}
        self._batches = Batches(self._version)
        self._uris: dict[str, None] = {}
        self._subscription: str | None = None
        self._is_followed = False
        self._is_greeted = False

    def begin(self, opening: Wire) -> list[Step]:
        """Return the answer to the client's `initialize`."""
        return [Step("client", self._opened(key(opening.id)))]

    @property
    def waits(self) -> bool:
        """False: every message of the client goes on at once."""
        return False

    # From the client.

    def from_client(self, raw: bytes) -> list[Step]:
        """Translate a message of the client."""
        if self._batches.is_batch(raw):
            return self._batches.gathered(
                step for part in self._batches.parts(raw) for step in self._taken(part)
            )
        return self._batches.gathered(self._taken(raw))

    def _taken(self, raw: bytes) -> list[Step]:
        wire = wire_of(raw)
        if wire is None:
            return [Step("server", raw)]  # the guard says why it is refused
        if wire.method is None:
            return self._replied(wire)
        if wire.id is None:
            return self._notified(wire)
        id_ = key(wire.id)
        try:
            return self._requested(wire, id_)
        except NacreError as error:
            return [Step("client", refused(id_, error, modern=False))]

    def _requested(self, wire: Wire, id_: Key) -> list[Step]:
        if id_ in self._running or any(
            running.client_id == id_ for running in self._running.values()
        ):
            raise MalformedMessageError("a request with this 'id' is still running")
        if len(self._running) >= MAX_IN_FLIGHT:  # the guard does not count calls that ask
            raise MalformedMessageError(f"{MAX_IN_FLIGHT} requests are running already")
        params = params_of(wire)
        match wire.method:
            case "initialize":
                return [Step("client", self._opened(id_))]
            case "ping":
                return [Step("client", answer(id_, b"{}").body)]
            case "logging/setLevel" if "logging" in self._offers:
                self._level = log_level(params.get("level"))
                return [Step("client", answer(id_, b"{}").body)]
            case "resources/subscribe" | "resources/unsubscribe":
                return self._followed(str(wire.method), params.get("uri"), id_)
            case _:
                return self._forwarded(wire, id_)

    def _forwarded(self, wire: Wire, id_: Key) -> list[Step]:
        raw = with_members(wire.raw, ("params", "_meta"), self._members())
        self._running[id_] = _Running(id_, id_, str(wire.method), raw)
        return [Step("server", raw)]

    def _opened(self, id_: Key) -> bytes:
        result: dict[str, Any] = {
            "protocolVersion": self._version,
            "capabilities": self._offers,
            "serverInfo": self._info,
        }
        instructions = self._found.get("instructions")
        if isinstance(instructions, str):
            result["instructions"] = instructions
        return answer(id_, encoded(result)).body

    def _members(self) -> dict[str, bytes]:
        """Return the metadata for the next request, as JSON."""
        members = {name: encoded(value) for name, value in self._meta.items()}
        if "logging" in self._offers:
            members[META_LOG_LEVEL] = encoded(self._level or _LEVEL)
        return members

    def _notified(self, wire: Wire) -> list[Step]:
        match wire.method:
            case "notifications/initialized":
                return self._greeted()
            case "notifications/roots/list_changed":
                return []  # the server asks in each call anew
            case "notifications/cancelled":
                return self._cancelled(params_of(wire))
            case _:
                return [Step("server", wire.raw)]

    def _cancelled(self, params: Mapping[str, Any]) -> list[Step]:
        id_ = key_or_none(params.get("requestId"))
        running = next((other for other in self._running.values() if other.client_id == id_), None)
        if running is None:
            return []
        del self._running[running.id]
        steps = [Step("client", cancellation(question)) for question in running.names]
        for question in running.names:
            del self._questions[question]
        if not steps:  # else the server has ended its part of the call
            steps.append(Step("server", cancellation(running.id, params.get("reason"))))
        return [*steps, *self._batches.forget(running.client_id)]

    # Changes, which the server sends on a subscription.

    def _greeted(self) -> list[Step]:
        if self._is_greeted:
            return []
        self._is_greeted = True
        return self._listening()

    def _listening(self) -> list[Step]:
        """Subscribe to all that the client follows, in place of an earlier subscription."""
        before, self._subscription = self._subscription, None
        steps = [] if before is None else [Step("server", cancellation(before))]
        notifications: dict[str, Any] = {
            name: True
            for kind, name in _CHANGES.items()
            if self._offers.get(kind, {}).get("listChanged") is True
        }
        if self._uris:
            notifications["resourceSubscriptions"] = list(self._uris)
        if notifications:
            self._subscription = self._ids.new()
            self._is_followed = False
            params = {"notifications": notifications, "_meta": self._meta}
            steps.append(
                Step("server", request(self._subscription, "subscriptions/listen", params))
            )
        return steps

    def _followed(self, method: str, uri: object, id_: Key) -> list[Step]:
        if self._offers.get("resources", {}).get("subscribe") is not True:
            raise UnknownMethodError(method)
        if type(uri) is not str:
            raise InvalidParamsError(f"{method}: 'uri' must be a string")
        if method == "resources/subscribe":
            if len(self._uris) >= FOLLOWED_RESOURCES:
                raise InvalidParamsError(f"{FOLLOWED_RESOURCES} resources are followed already")
            self._uris[uri] = None
        else:
            self._uris.pop(uri, None)
        return [*self._listening(), Step("client", answer(id_, b"{}").body)]

    # From the server.

    def from_server(self, raw: bytes) -> list[Step]:
        """Translate a message that the guard lets pass to the client."""
        wire = wire_of(raw)
        if wire is None:
            return [Step("client", raw)]
        if wire.method is not None:
            return self._told(wire) if wire.id is None else self._asked_otherwise(wire)
        return self._batches.gathered(self._answered(wire))

    def asked(self, raw: bytes, about: bytes) -> list[Step]:
        """Take a question of the guard about a message that it holds: the client knows its form."""
        del about
        return [Step("client", raw)]

    def _asked_otherwise(self, wire: Wire) -> list[Step]:
        # Servers of this generation make no requests.
        error = UnknownMethodError(str(wire.method))
        return [Step("server", refused(key(wire.id), error, modern=True))]

    def _told(self, wire: Wire) -> list[Step]:
        if wire.method == "notifications/subscriptions/acknowledged":
            self._is_followed = True
            return []
        if META_SUBSCRIPTION not in wire.meta:
            return [Step("client", wire.raw)]
        params = {name: value for name, value in params_of(wire).items() if name != "_meta"}
        notification = {"jsonrpc": "2.0", "method": wire.method}
        return [
            Step(
                "client",
                encoded({**notification, "params": plain(params)} if params else notification),
            )
        ]

    def _answered(self, wire: Wire) -> list[Step]:
        id_ = key(wire.id)
        if id_ == self._subscription:
            # A subscription that was taken has ended with its connection; another one begins.
            self._subscription = None
            return self._listening() if self._is_followed else []
        running = self._running.get(id_)
        if running is None:
            return [] if self._ids.has(id_) else [Step("client", wire.raw)]
        if wire.error is None and wire.result.get("resultType") == "input_required":
            return self._asks(running, wire)
        del self._running[running.id]
        return [Step("client", self._older(running, wire))]

    def _older(self, running: _Running, wire: Wire) -> bytes:
        """Return an answer as the client's generation has it."""
        if wire.error is not None:
            if running.method == "tools/call" and error_code(wire.error) == _NO_CAPABILITY:
                # That generation has no such code, so a model reads it.
                text = str(wire.error.get("message", "the client lacks a capability"))
                return answer(running.client_id, encoded(tool_error(f"Error: {text}"))).body
            if running.client_id == running.id:
                return wire.raw
            return with_value(wire.raw, ("id",), encoded_key(running.client_id))
        result = Spelled(members_at(wire.raw, ("result",)))
        for name in _NEW_MEMBERS:
            result = result.without(name)
        meta = wire.result.get("_meta")
        if type(meta) is dict and META_SERVER in meta:
            others = members_at(wire.raw, ("result", "_meta"))
            del others[META_SERVER]
            result = result.without("_meta")
            if others:
                result = Spelled({**result.members, "_meta": Spelled(others).encode()})
        if running.method == "tools/list" and b"outputSchema" in wire.raw:
            result = _older_tools(result, wire)
        return answer(running.client_id, self._results.encode(result, modern=False)).body

    # Questions within results.

    def _asks(self, running: _Running, wire: Wire) -> list[Step]:
        questions = wire.result.get("inputRequests")
        questions = plain(questions) if type(questions) is dict else {}
        state = wire.result.get("requestState")
        running.state = (
            members_at(wire.raw, ("result",))["requestState"] if type(state) is str else None
        )
        running.rounds += 1
        running.answers.clear()
        running.methods.clear()
        if len(questions) > UPSTREAM_QUESTIONS:
            return self._ended(running, "the server asks too much at once")
        if running.rounds > UPSTREAM_QUESTIONS or not (questions or running.state):
            return self._ended(running, "the server asks too often")
        steps = []
        for name, question in questions.items():
            method = question.get("method") if isinstance(question, dict) else None
            if method not in DECIDED_DOWN:
                return self._ended(running, "the server asks for something that no client supports")
            params = question.get("params")
            params = params if isinstance(params, dict) else {}
            if not can_answer(self._capabilities, method, params):
                if method != "elicitation/create":
                    return self._ended(running, f"the client has no '{capability_of(method)}'")
                running.answers[name] = b'{"action":"decline"}'
                continue
            id_ = self._ids.new()
            running.names[id_] = name
            running.methods[name] = method
            steps.append(Step("client", request(id_, method, params)))
        self._questions.update(dict.fromkeys(running.names, running))
        return steps or self._again(running)

    def _replied(self, wire: Wire) -> list[Step]:
        """Take the client's answer to a question."""
        id_ = key(wire.id)
        running = self._questions.pop(id_, None)
        if running is None:
            return [Step("server", wire.raw)]  # to the guard's own question, or to nothing
        name = running.names.pop(id_)
        if wire.error is None:
            running.answers[name] = members_at(wire.raw, ())["result"]
        elif running.methods[name] == "elicitation/create":
            running.answers[name] = b'{"action":"cancel"}'
        else:
            for question in running.names:
                self._questions.pop(question, None)
            return self._ended(running, f"the client has refused '{running.methods[name]}'")
        return [] if running.names else self._again(running)

    def _again(self, running: _Running) -> list[Step]:
        """Make a call again, with the answers."""
        del self._running[running.id]
        running.id = self._ids.new()
        self._running[running.id] = running
        raw = with_value(running.raw, ("id",), encoded_key(running.id))
        more = {"inputResponses": Spelled(running.answers).encode()} if running.answers else {}
        if running.state is not None:
            more["requestState"] = running.state
        return [Step("server", with_members(raw, ("params",), more))]

    def _ended(self, running: _Running, text: str) -> list[Step]:
        """End a call whose server cannot be answered."""
        self._running.pop(running.id, None)
        running.names.clear()
        if running.method == "tools/call":
            body = answer(running.client_id, encoded(tool_error(f"Error: {text}"))).body
        else:
            body = refused(running.client_id, MalformedMessageError(text), modern=False)
        return [Step("client", body)]


def meta_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a client for stateless requests, from its `initialize`."""
    return {
        META_VERSION: MODERN,
        META_CAPABILITIES: capabilities_in(params.get("capabilities"), OF_CLIENTS),
        META_CLIENT: named_client(params.get("clientInfo")),
    }


def _older_tools(result: Spelled, wire: Wire) -> Spelled:
    """Return a list of tools without the schemas of results that are no objects."""
    tools = wire.result.get("tools")
    if type(tools) is not list:
        return result
    older = [legacy_tool(tool) if type(tool) is dict else tool for tool in tools]
    if older == tools:
        return result
    return result.joined({"tools": plain(older)})
