"""One message as a guard reads it: raw bytes that mean the same to every reader, or a refusal."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

from nacre.core.errors import MalformedMessageError, TooLargeError
from nacre.core.limits import MAX_WIRE_BYTES
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.protocol import strict_json
from nacre.protocol.versions import META_VERSION, MODERN

Id = str  # a text, or a JsonNumber with the digits that were received

DECIDED_UP = frozenset({"tools/call", "resources/read", "prompts/get"})
DECIDED_DOWN = frozenset({"sampling/createMessage", "elicitation/create", "roots/list"})
# What rules decide about, besides the tools that are called.
DECIDED_METHODS = (DECIDED_UP | DECIDED_DOWN) - {"tools/call"}
LISTS = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})
OPENING = frozenset({"initialize", "server/discover"})
_KNOWN = DECIDED_UP | DECIDED_DOWN | LISTS | OPENING

_MEMBERS = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
# What a guard reads below the message's own members, in either direction.
_READ = frozenset(
    (
        "name",
        "arguments",
        "uri",
        "_meta",
        "inputResponses",
        "inputRequests",
        "requestState",
        "resultType",
        "task",
        "messages",
        "systemPrompt",
        "tools",
        "includeContext",
        "message",
        "requestedSchema",
        "url",
        "mode",
        "content",
        "structuredContent",
        "contents",
        "isError",
        "resources",
        "prompts",
        "nextCursor",
        "protocolVersion",
        "capabilities",
        "requestId",
    )
)
MAX_ID = 256

parse = strict_json.parser(JsonNumber)


class WireError(MalformedMessageError):
    """A message that is not forwarded; `code` is the JSON-RPC error, `id` whom to tell."""

    def __init__(self, message: str, *, code: int = -32600, id: Id | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.id = id


@dataclass(slots=True)
class Wire:
    """One message: a request has a method and an id, a notification no id, else a response."""

    raw: bytes
    method: str | None
    id: Id | None
    params: Any
    result: Any = None
    error: Any = None
    is_modern: bool = False  # the request carries its version, as the stateless era does

    @property
    def kind(self) -> Literal["request", "notification", "response"]:
        """What the message is."""
        if self.method is None:
            return "response"
        return "notification" if self.id is None else "request"

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the parameters."""
        meta = self.params.get("_meta") if type(self.params) is dict else None
        return meta if type(meta) is dict else {}


def read(raw: bytes, *, lines: bool) -> Any:
    """Return the JSON that the bytes hold; raises NacreError for what is not forwarded.

    `lines`: messages are told apart by ends of lines, so that one within a message
    would make two of it.
    """
    if len(raw) > MAX_WIRE_BYTES:
        raise TooLargeError("the message", limit=MAX_WIRE_BYTES)
    if lines and (b"\n" in raw or b"\r" in raw):
        raise MalformedMessageError("a message must stand on one line")
    return parse(raw)


def message(raw: bytes, value: Any) -> Wire:
    """Return the message that a parsed value is; raises WireError for what is none."""
    if type(value) is not dict:
        raise WireError("a message must be a JSON object")
    known = value.get("id")
    answered = known if _is_id(known) else None
    version = value.get("jsonrpc")
    if version != "2.0" or type(version) is not str:
        raise WireError("'jsonrpc' must be \"2.0\"", id=answered)
    _refuse_variants(value, _MEMBERS, answered)
    if answered is None and "id" in value:
        raise WireError("'id' must be a text or a whole number")
    if "method" not in value:
        return _response(raw, value, answered)
    method, params = value["method"], value.get("params")
    if type(method) is not str or not method:
        raise WireError("'method' must be a text", id=answered)
    if "result" in value or "error" in value:
        raise WireError("a message is a request or a response, not both", id=answered)
    if type(params) is dict:
        _refuse_variants(params, _READ, answered)
    elif params is not None and method not in _KNOWN:
        raise WireError("'params' must be an object", id=answered)
    if method not in _KNOWN:
        _refuse_near_misses(method, answered)
    wire = Wire(raw, method, answered, params)
    wire.is_modern = wire.meta.get(META_VERSION) == MODERN
    return wire


def _response(raw: bytes, value: dict[str, Any], id_: Id | None) -> Wire:
    if id_ is None or ("result" in value) == ("error" in value):
        raise WireError(
            "a message needs a 'method', or an 'id' with a 'result' or an 'error'", id=id_
        )
    result, error = value.get("result"), value.get("error")
    if type(result if error is None else error) is not dict:
        name = "result" if "result" in value else "error"
        raise WireError(f"'{name}' must be an object", id=id_)
    if result is not None:
        _refuse_variants(result, _READ, id_)
    return Wire(raw, None, id_, None, result, error)


def _is_id(value: object) -> bool:
    if type(value) is JsonNumber:
        return len(value) <= MAX_ID and value.lstrip("-").isdigit()
    return type(value) is str and len(value) <= MAX_ID


def _refuse_variants(members: Mapping[str, Any], exact: frozenset[str], id_: Id | None) -> None:
    """Refuse a key that some readers take for one that we read, in other letters."""
    if exact.issuperset(members):
        return
    for key in members.keys() - exact:
        meant = _FOLDED[exact].get(_folded(key))
        if meant is not None:
            raise WireError(f"the key '{_shown(key)}' is a misspelt '{meant}'", id=id_)


def _refuse_near_misses(method: str, id_: Id | None) -> None:
    if "\0" in method:
        raise WireError("'method' holds a NUL character", id=id_)
    meant = _SKELETONS.get(_skeleton(method))
    if meant is not None:
        raise WireError(f"Method not found: did you mean '{meant}'?", code=-32601, id=id_)


def _folded(key: str) -> str:
    if key.isascii() and key.isprintable():
        return key.strip().casefold()
    folded = unicodedata.normalize("NFKC", key).casefold()
    return "".join(each for each in folded if unicodedata.category(each)[0] not in "CZ")


def _skeleton(method: str) -> str:
    plain = unicodedata.normalize("NFKC", unquote(method)).casefold()
    return "".join(each for each in plain if each.isalnum())


def _shown(key: str) -> str:
    return key[:40].encode("ascii", "backslashreplace").decode()


_SKELETONS = {_skeleton(method): method for method in _KNOWN}
_FOLDED = {exact: {_folded(name): name for name in exact} for exact in (_MEMBERS, _READ)}
