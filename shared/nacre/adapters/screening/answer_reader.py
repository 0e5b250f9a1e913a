"""Read a large answer of another server in a helper process, as the official client would."""

from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp_types import methods
from pydantic import ValidationError

from nacre.core.limits import REMEMBERED_LINKS
from nacre.gateway.resource_links import named_uris
from nacre.protocol.encoded_results import LargeAnswer, Spelled, spelled

_SMALL = 4096  # bytes of a member that the client may read itself
_EMPTY: Mapping[type, Any] = {dict: {}, list: [], str: ""}


def read_answer(raw: bytes, sent: Mapping[str | int, str], version: str) -> LargeAnswer | None:
    """Return a server's answer to one of the requests that were `sent`.

    Return None if the client should read the message itself: it is not an answer, breaks the
    protocol or asks for input.
    """
    try:
        message = types.jsonrpc_message_adapter.validate_json(raw, by_name=False)
        if not isinstance(message, types.JSONRPCResponse) or message.id not in sent:
            return None
        result, method = message.result, sent[message.id]
        if "inputRequests" in result or result.get("resultType") == "input_required":
            return None
        encoded = spelled(result)
        shortened = {
            name: inner if len(encoded.members[name]) <= _SMALL else _EMPTY[type(inner)]
            for name, inner in result.items()
        }
        for candidate in (result, shortened):
            methods.validate_server_result(method, version, candidate)
    except (ValidationError, ValueError, TypeError, KeyError, RecursionError):
        return None
    uris = list(dict.fromkeys(named_uris(result)))[-REMEMBERED_LINKS:]
    return LargeAnswer(message.id, shortened, Spelled(encoded.members, uris))
