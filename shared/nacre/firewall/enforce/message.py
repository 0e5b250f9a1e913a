"""One message as the guard reads it. Bytes that two readers could read differently are refused."""

import unicodedata
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import unquote

from nacre.core.errors import MalformedMessageError, NacreError, TooLargeError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_WIRE_BYTES
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.protocol import strict_json
from nacre.protocol.versions import META_VERSION, MODERN

Id = str  # a text, or a JsonNumber with the digits that were received
Key = int | str  # an id as the other side compares it

DECIDED_UP = frozenset({"tools/call", "resources/read", "prompts/get"})
DECIDED_DOWN = frozenset({"sampling/createMessage", "elicitation/create", "roots/list"})
# What rules decide about, besides the tools that are called.
DECIDED_METHODS = (DECIDED_UP | DECIDED_DOWN) - {"tools/call"}
LISTS = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})
OPENING = frozenset({"initialize", "server/discover"})
_KNOWN = DECIDED_UP | DECIDED_DOWN | LISTS | OPENING

_MEMBERS = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})
# Members of params and results that the guard reads, in either direction.
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
    """A message that is not forwarded; `code` is the JSON-RPC error, `id` the request to answer."""

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
        """The kind of the message, by its members."""
        if self.method is None:
            return "response"
        return "notification" if self.id is None else "request"

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the parameters."""
        meta = self.params.get("_meta") if type(self.params) is dict else None
        return meta if type(meta) is dict else {}


def read(raw: bytes, *, lines: bool) -> Any:
    """Return the parsed JSON of a message; raises NacreError if it must not be forwarded.

    With `lines`, line ends separate messages, so that a message may not contain one.
    """
    if len(raw) > MAX_WIRE_BYTES:
        raise TooLargeError("the message", limit=MAX_WIRE_BYTES)
    if lines and (b"\n" in raw or b"\r" in raw):
        raise MalformedMessageError("a message must stand on one line")
    return parse(raw)


def message(raw: bytes, value: Any) -> Wire:
    """Return a parsed value as a message; raises WireError if it is not one."""
    if type(value) is not dict:
        raise WireError("a message must be a JSON object")
    given_id = value.get("id")
    id_ = given_id if _is_id(given_id) else None
    version = value.get("jsonrpc")
    if version != "2.0" or type(version) is not str:
        raise WireError("'jsonrpc' must be \"2.0\"", id=id_)
    _refuse_variants(value, _MEMBERS, id_)
    if id_ is None and "id" in value:
        raise WireError("'id' must be a string or a whole number")
    if "method" not in value:
        return _response(raw, value, id_)
    method, params = value["method"], value.get("params")
    if type(method) is not str or not method:
        raise WireError("'method' must be a string", id=id_)
    if "result" in value or "error" in value:
        raise WireError("a message is a request or a response, not both", id=id_)
    if type(params) is dict:
        _refuse_variants(params, _READ, id_)
    elif params is not None and method not in _KNOWN:
        raise WireError("'params' must be an object", id=id_)
    if method not in _KNOWN:
        _refuse_near_misses(method, id_)
    wire = Wire(raw, method, id_, params)
    wire.is_modern = wire.meta.get(META_VERSION) == MODERN
    return wire


def key_of(id_: Id) -> Key:
    """Return an id as the other side compares it: 1 is not "1"."""
    return int(id_) if isinstance(id_, JsonNumber) else id_


def id_of(raw: bytes) -> Key | None:
    """Return the id of a message; 1 is not "1"."""
    return key_or_none(_object(raw).get("id"))


def cancelled_id(raw: bytes) -> Key | None:
    """Return the id of the request that a message gives up."""
    members = _object(raw)
    params = members.get("params")
    if members.get("method") != "notifications/cancelled" or not isinstance(params, dict):
        return None
    return key_or_none(params.get("requestId"))


def _object(raw: bytes) -> dict[str, object]:
    try:
        value = parse(raw)
    except NacreError:
        return {}
    return value if isinstance(value, dict) else {}


def key_or_none(id_: object) -> Key | None:
    """Return a value that may be an id, or a token for progress, as the other side compares it."""
    try:
        return key_of(id_) if isinstance(id_, str) else None
    except ValueError:  # a number that is not a valid id
        return None


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
    """Refuse a key that some readers could take for a known one, such as `Method`."""
    if exact.issuperset(members):
        return
    for key in members.keys() - exact:
        expected = _FOLDED[exact].get(_folded(key))
        if expected is not None:
            raise WireError(f"the key '{_shown(key)}' is a misspelt '{expected}'", id=id_)


def _refuse_near_misses(method: str, id_: Id | None) -> None:
    if "\0" in method:
        raise WireError("'method' holds a NUL character", id=id_)
    expected = _SKELETONS.get(_skeleton(method))
    if expected is not None:
        raise WireError(f"Method not found: did you mean '{expected}'?", code=-32601, id=id_)


def _folded(key: str) -> str:
    if key.isascii() and key.isprintable():
        return key.strip().casefold()
    folded = unicodedata.normalize("NFKC", key).casefold()
    return "".join(
        character for character in folded if unicodedata.category(character)[0] not in "CZ"
    )


def _skeleton(method: str) -> str:
    plain = unicodedata.normalize("NFKC", unquote(method)).casefold()
    return "".join(character for character in plain if character.isalnum())


def _shown(key: str) -> str:
    return key[:40].encode("ascii", "backslashreplace").decode()


_SKELETONS = {_skeleton(method): method for method in _KNOWN}
_FOLDED = {exact: {_folded(name): name for name in exact} for exact in (_MEMBERS, _READ)}
