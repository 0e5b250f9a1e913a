"""Answers of a server that wants a session, as a client of the stateless generation gets them."""

import re
from collections.abc import Mapping
from typing import Any

from nacre.core.limits import LARGE_RESULT_BYTES
from nacre.firewall.enforce.json_edits import members_at, with_value
from nacre.firewall.enforce.message import LISTS, Key
from nacre.firewall.proxy.generations.steps import encoded_key, error_code, wire_of
from nacre.protocol.encoded_results import Spelled
from nacre.protocol.messages import answer
from nacre.protocol.results import Results, cacheable

_UNPARSED = ("tools/call", "prompts/get")  # whose large results need nothing but a mark
_NEWER_MEMBERS = ("resultType", "inputRequests", "requestState")  # of results
# One of them, or a letter that needs no escape and may hide one.
_MAY_BE_NEWER = re.compile(
    rb"resultType|inputRequests|requestState|\\u00(?:[46][1-9a-fA-F]|[57][0-9aA])"
)
_RESOURCE_NOT_FOUND = -32002  # of the older generation


def newer_answer(raw: bytes, method: str, results: Results, *, id_: Key, client_id: Key) -> bytes:
    """Return the answer to a request of this method.

    `id_` is the id that the server knows, and `client_id` the one that the client waits for.
    """
    if len(raw) >= LARGE_RESULT_BYTES:
        marked = marked_as_complete(raw, method)
        if marked is not None:
            return _addressed(marked, id_, client_id)
    wire = wire_of(raw)
    assert wire is not None
    if wire.error is not None:
        changed = _addressed(raw, id_, client_id)
        if method == "resources/read" and error_code(wire.error) == _RESOURCE_NOT_FOUND:
            changed = with_value(changed, ("error", "code"), b"-32602")
        return changed
    spelled = members_at(raw, ("result",))
    # A server of the older generation completes each result, and asks by requests.
    if type(wire.result.get("_meta")) is not dict:
        spelled.pop("_meta", None)  # what is no object cannot be joined with ours
    result: Mapping[str, Any] = Spelled(
        {name: value for name, value in spelled.items() if name not in _NEWER_MEMBERS}
    )
    if method in LISTS or method == "resources/read":
        # Nobody knows for how long it stays true.
        result = cacheable(result, modern=True, ttl_ms=0)
    return answer(client_id, results.encode(result, modern=True)).body


def marked_as_complete(raw: bytes, method: str) -> bytes | None:
    """Return a large response whose result says that it is complete, without parsing it.

    None if it has no result, or one that may say something else about itself.
    """
    if method not in _UNPARSED:
        return None
    head = raw[:1024]
    place = head.find(b'"result"')
    if place < 0 or b'"error"' in head[:place] or _MAY_BE_NEWER.search(raw):
        return None
    brace = head.find(b"{", place)
    if brace < 0 or head[place + 8 : brace].strip(b" \t:") or brace + 1 >= len(head):
        return None
    comma = b"" if head[brace + 1 :].lstrip()[:1] == b"}" else b","
    return b'%b"resultType":"complete"%b%b' % (raw[: brace + 1], comma, raw[brace + 1 :])


def _addressed(raw: bytes, id_: Key, client_id: Key) -> bytes:
    """Return an answer with the id that the client waits for."""
    return raw if id_ == client_id else with_value(raw, ("id",), encoded_key(client_id))
