"""The steps of a translation, and the small messages that it makes itself."""

import json
import secrets
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.enforce.json_edits import numbers
from nacre.firewall.enforce.message import Id, Key, Wire, key_of, message, parse
from nacre.protocol.context import capability_of
from nacre.protocol.http.error_map import explain
from nacre.protocol.messages import refusal

# The capabilities that both generations have, of servers and of clients.
OF_SERVERS = ("tools", "resources", "prompts", "completions", "logging", "experimental")
OF_CLIENTS = ("sampling", "elicitation", "roots", "experimental")


class Step(NamedTuple):
    """A message, and the side that gets it; on its way to the server the guard decides about it."""

    to: Literal["client", "server"]
    raw: bytes


@dataclass(frozen=True, slots=True)
class Peer:
    """A server, as it names itself in its results."""

    name: str = ""
    version: str = ""
    title: str | None = None


class OwnIds:
    """The ids of requests that a translation makes itself."""

    def __init__(self) -> None:
        self._prefix = f"nacre-{secrets.token_hex(6)}"
        self._number = 0

    def new(self) -> str:
        """Return the id of another request."""
        self._number += 1
        return f"{self._prefix}-{self._number}"

    def has(self, id_: Key) -> bool:
        """Tell whether this is one of them."""
        return str(id_).startswith(self._prefix)


def wire_of(raw: bytes) -> Wire | None:
    """Return a message as the guard reads it; None if the guard refuses it, or for a batch."""
    try:
        return message(raw, parse(raw))
    except NacreError:
        return None


def key(id_: Id | None) -> Key:
    """Return the id of a request or a response as the other side compares it."""
    assert id_ is not None
    return key_of(id_)


def params_of(wire: Wire) -> dict[str, Any]:
    """Return the parameters of a message, empty if there are none."""
    return wire.params if type(wire.params) is dict else {}


def plain(value: Any) -> Any:
    """Return a value with its numbers as numbers; an empty object if one cannot be written."""
    try:
        return numbers(value)
    except NacreError:
        return {}


def capabilities_in(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the named capabilities that are objects; none if the value is no object."""
    if not isinstance(value, dict):
        return {}
    return {name: value[name] for name in names if isinstance(value.get(name), dict)}


def named_client(info: object) -> object:
    """Return how a client names itself, or a name for one that does not."""
    return info if isinstance(info, dict) and info else {"name": "unknown", "version": "0"}


def can_answer(capabilities: Mapping[str, Any], method: str, params: Mapping[str, Any]) -> bool:
    """Tell whether a client with these capabilities can answer a question of the server."""
    offered = capabilities.get(capability_of(method))
    if not isinstance(offered, dict):
        return False
    return params.get("mode") != "url" or "url" in offered


def refused(id_: Key | None, error: Exception, *, modern: bool) -> bytes:
    """Return the error response for a request."""
    return refusal(id_, explain(error, modern=modern), error).body


def error_code(error: Mapping[str, Any]) -> int | None:
    """Return the code of a parsed error."""
    code = plain(error.get("code"))
    return code if type(code) is int else None


def encoded_key(id_: Key) -> bytes:
    """Return an id as JSON."""
    return json.dumps(id_, ensure_ascii=False).encode()


def cancellation(id_: Key, reason: object = None) -> bytes:
    """Return the notification that cancels a request."""
    params: dict[str, Any] = {"requestId": id_}
    if isinstance(reason, str):
        params["reason"] = str(reason)
    return encoded({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})


def request(id_: Key, method: str, params: Mapping[str, Any]) -> bytes:
    """Return a request that the translation makes itself."""
    return encoded({"jsonrpc": "2.0", "id": id_, "method": method, "params": dict(params)})


def encoded(value: Any) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
