"""The headers that are made for a client without any are those that a server accepts."""

import json
import string

import h11
from hypothesis import given
from hypothesis import strategies as st

from nacre.firewall.enforce.mirrored_headers import checked_mirrors, mirror_headers
from tests.firewall.guarding import modern, notification, request

VALUES = st.one_of(
    st.text(max_size=20),
    st.text(string.printable, max_size=10),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"x-mcp-header": "A"},
        "deep": {"properties": {"b": {"x-mcp-header": "Deep-B"}}},
        "list": {"x-mcp-header": "List"},
    },
}


@given(name=st.text(min_size=1, max_size=20), a=VALUES, b=VALUES, has_deep=st.booleans())
def test_a_server_accepts_what_is_made(name: str, a: object, b: object, has_deep: bool) -> None:
    arguments = {"a": a, "deep": {"b": b} if has_deep else 5}
    message = request(1, "tools/call", modern({"name": name, "arguments": arguments}))
    raw = json.dumps(message).encode()
    schemas = {name: SCHEMA}

    headers = mirror_headers(raw, schemas, None)

    assert checked_mirrors(raw, headers, schemas) == headers
    h11.Request(method="POST", target="/", headers=[("host", "x"), *headers.items()])


def test_older_messages_carry_the_version_that_was_agreed_on() -> None:
    plain = json.dumps(notification("notifications/initialized")).encode()
    opening = json.dumps(request(1, "initialize", {})).encode()

    assert mirror_headers(plain, {}, "2025-06-18") == {"mcp-protocol-version": "2025-06-18"}
    assert mirror_headers(plain, {}, None) == {}
    assert mirror_headers(opening, {}, "2025-06-18") == {}
    assert mirror_headers(b"[]", {}, "2025-03-26") == {"mcp-protocol-version": "2025-03-26"}
