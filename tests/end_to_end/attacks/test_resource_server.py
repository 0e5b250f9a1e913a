"""Attacks on the MCP endpoint: who comes in, and what a refusal says."""

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from nacre.access.tokens.token_check import token_key
from nacre.access.tokens.token_format import digest, mint
from nacre.core.errors import UnavailableError
from nacre.core.token_prefixes import API, OAUTH_REFRESH, OWNER_SECRET
from nacre.ports.items.table import Key
from nacre.protocol.principal import FULL, READ_ONLY
from tests.end_to_end.attacks.rows import attack
from tests.scaffolding.lambda_events import LambdaContext, Sent, http_api_event
from tests.scaffolding.oauth import challenge_of, connected, fields_of
from tests.scaffolding.web_site import GatewayFront, Site, site

EVERYTHING = "mcp:read mcp:write"
MISSING = "11111111-1111-4111-8111-111111111111"
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "get_current_time", "arguments": {}},
}


@pytest.fixture(params=["laptop", "gateway"])
def place(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site(request.param) as made:
        yield made


@attack("R0")
@pytest.mark.parametrize(
    "context",
    [None, {}, {"auth": "invalid"}, {"auth": "OK"}, {"auth": "true"}, {"token_id": "t"}],
    ids=json.dumps,
)
def test_without_the_authorizers_word_nobody_comes_in(context: dict[str, str] | None) -> None:
    with site("gateway") as place:
        front = place.front
        assert isinstance(front, GatewayFront)
        sent = Sent("POST", "/mcp", {"content-type": "application/json"}, json.dumps(CALL).encode())
        answer = front.to_function(http_api_event(sent, context))

        assert (answer.status, place.calls) == (401, [])


@attack("R0")
def test_what_a_client_says_of_itself_counts_for_nothing(place: Site) -> None:
    claims = {"auth": "ok", "kind": "bto", "being_id": place.being, "scopes": EVERYTHING}
    body = {**CALL, "requestContext": {"authorizer": {"lambda": claims}}, **claims}
    headers = {"auth": "ok", "x-amzn-request-context": json.dumps(claims)}
    answer = place.post_json("/mcp", body, {**headers, "authorization": "Bearer x"})

    assert (answer.status, place.calls) == (401, [])


@attack("R1")
def test_who_sends_no_token_is_told_where_to_get_one(place: Site) -> None:
    answer = place.call(None)
    at_being = place.call(None, path=f"/mcp/{place.being}")

    assert (answer.status, at_being.status) == (401, 401)
    assert answer["content-type"] in ("application/json", "")
    if isinstance(place.front, GatewayFront):  # API Gateway's own answer, without a header
        return
    well_known = f"{place.base}/.well-known/oauth-protected-resource/mcp"
    assert fields_of(challenge_of(answer)) == {
        "scope": EVERYTHING,
        "resource_metadata": well_known,
    }
    assert fields_of(challenge_of(at_being))["resource_metadata"] == f"{well_known}/{place.being}"


def rejects(place: Site) -> dict[str, str]:
    """Return every kind of thing that is no token."""
    rng = Random(3)
    good = place.api_token()
    expired = place.authority.tokens.issue(
        API, being_id=place.being, owner="me", scopes=FULL, lifetime=timedelta(seconds=1)
    )
    revoked = place.authority.tokens.issue(
        API, being_id=place.being, owner="me", scopes=FULL, lifetime=timedelta(days=1)
    )
    place.authority.tokens.revoke(revoked.record.token_id, being_id=place.being)
    _, tokens = connected(place)
    place.time.pass_(seconds=2)
    header = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    return {
        "garbage": "x",
        "a wrong checksum": good[:-1] + ("0" if good[-1] != "0" else "1"),
        "unknown": mint(API, rng),
        "expired": expired.token,
        "revoked": revoked.token,
        "a link": place.link(),
        "a minted owner secret": mint(OWNER_SECRET, rng),
        "a refresh token": tokens.refresh,
        "an unknown refresh token": mint(OAUTH_REFRESH, rng),
        "an unsigned JWT": f"{header}.eyJzdWIiOiJtZSJ9.",
        "nine kilobytes": "b" * 9000,
        "not ASCII": "bto_é" + "0" * 48,
        "two tokens": f"{good}, Bearer {good}",
        "nothing": "",
    }


@attack("R3")
def test_what_is_no_token_is_refused_with_one_text(place: Site) -> None:
    said = set()
    for name, token in rejects(place).items():
        answer = place.call(token)
        assert answer.status == 401, name
        fields = fields_of(challenge_of(answer))
        assert fields["error"] == "invalid_token", name
        assert fields["scope"] == EVERYTHING
        assert fields["resource_metadata"].startswith(f"{place.base}/.well-known/")
        said.add(answer.text)

    assert len(said) == 1
    assert place.calls == []


@attack("R4")
@pytest.mark.parametrize("name", ["access_token", "token", "authorization"])
def test_a_token_in_the_query_is_not_looked_at(place: Site, name: str) -> None:
    token = place.api_token()

    assert place.call(None, path=f"/mcp/{place.being}?{name}={token}").status == 401


@attack("R5")
@pytest.mark.parametrize("scheme", ["Basic", "Token", "BearerX", "DPoP", ""])
def test_another_scheme_is_refused(place: Site, scheme: str) -> None:
    token = place.api_token()
    answer = place.post_json(
        f"/mcp/{place.being}", CALL, {"authorization": f"{scheme} {token}".strip()}
    )

    assert answer.status == 401


@attack("R6")
@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "bEaReR"])
def test_the_scheme_may_be_written_in_any_case(place: Site, scheme: str) -> None:
    token = place.api_token()
    headers = {"authorization": f"{scheme} {token}", "mcp-protocol-version": "2025-11-25"}

    assert place.post_json(f"/mcp/{place.being}", CALL, headers).status == 200


@attack("R9")
@pytest.mark.parametrize("kind", ["api", "oauth"])
def test_a_read_only_token_writes_nothing_and_is_told_what_it_lacks(place: Site, kind: str) -> None:
    if kind == "api":
        token = place.api_token(READ_ONLY)
    else:
        token = connected(place, scope="read-only")[1].access
    answer = place.call(token, "update_notes", path=f"/mcp/{place.being}")
    fields = fields_of(challenge_of(answer))

    assert (answer.status, place.calls) == (403, [])
    assert (fields["error"], fields["scope"]) == ("insufficient_scope", EVERYTHING)
    assert fields["resource_metadata"].endswith(f"/mcp/{place.being}")
    assert answer.json["error"]["data"]["error"] == "insufficient_scope"


def modern(**changes: Any) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return {**CALL, "params": {**CALL["params"], "_meta": meta, **changes}}  # type: ignore[dict-item]


DUPLICATE = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
    b'"params":{"name":"get_current_time","name":"update_notes","arguments":{}}}'
)


@attack("R10")
@attack("R11")
@pytest.mark.parametrize(
    "body",
    [
        [CALL, {**CALL, "params": {"name": "update_notes", "arguments": {}}}],
        DUPLICATE,
        DUPLICATE.replace(b'"name":"update', b'"n\\u0061me":"update'),
    ],
    ids=["batch", "duplicate", "escaped duplicate"],
)
def test_what_can_be_read_in_two_ways_is_not_executed(place: Site, body: Any) -> None:
    headers = {
        "authorization": f"Bearer {place.api_token(READ_ONLY)}",
        "mcp-protocol-version": "2025-11-25",
    }
    answer = place.post_json(f"/mcp/{place.being}", body, headers)

    assert (answer.status, place.calls) == (400, [])


@attack("R12")
def test_a_header_that_names_another_tool_is_refused(place: Site) -> None:
    headers = {
        "authorization": f"Bearer {place.api_token(READ_ONLY)}",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "get_current_time",
    }
    answer = place.post_json(f"/mcp/{place.being}", modern(name="update_notes"), headers)

    assert (answer.status, place.calls) == (400, [])


@attack("R13")
@pytest.mark.parametrize(
    "name",
    ["update_notes ", " update_notes", "UPDATE_NOTES", "update_notes\x00", "update\u200b_notes"],
)
def test_a_variant_of_a_name_is_no_tool(place: Site, name: str) -> None:
    token = place.api_token(READ_ONLY)
    message = {**CALL, "params": {"name": name, "arguments": {}}}
    headers = {"authorization": f"Bearer {token}", "mcp-protocol-version": "2025-11-25"}
    answer = place.post_json(f"/mcp/{place.being}", message, headers)

    assert place.calls == []
    assert answer.status == 403 or "error" in answer.json


@attack("R15")
@attack("R16")
@attack("R17")
@pytest.mark.parametrize("kind", ["api", "oauth"])
def test_another_being_is_forbidden_whether_or_not_it_exists(place: Site, kind: str) -> None:
    other = place.authority.beings.create("Bob", owner="me").being_id
    token = place.api_token() if kind == "api" else connected(place, being=place.being)[1].access
    paths = [
        *(f"/mcp/{other}", f"/mcp/{MISSING}"),
        *(f"/mcp?being_id={other}", f"/mcp?being_id={MISSING}"),
        f"/mcp/{place.being}?being_id={other}",
        f"/mcp/{other}?being_id={place.being}",
    ]
    answers = [place.call(token, path=path) for path in paths]

    assert {answer.status for answer in answers} == {403}
    assert len({answer.text for answer in answers}) == 1
    assert place.calls == []


NO_BEINGS = ["%2f..%2f", "%2e%2e", "%00", "%0d%0aX-Evil:%201", '"', "a" * 5000, "%22%3E%3Csvg"]


@attack("R18")
@pytest.mark.parametrize(
    "before", ["/mcp/", "/mcp?being_id=", "/.well-known/oauth-protected-resource/mcp/"]
)
def test_what_is_no_beings_id_is_not_found_and_not_repeated(place: Site, before: str) -> None:
    token = place.api_token()
    for name in NO_BEINGS:
        target = f"{before}{name}"
        known = before.startswith("/.well-known")
        answer = place.get(target) if known else place.call(token, path=target)
        said = answer.text + str(answer.pairs)

        assert answer.status == 404, name
        assert not any(part in said for part in ("Evil", "svg", "aaaaaaaa", "..", "\x00"))


@attack("R19")
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8642", "", 'x"', "a b"]
)
@pytest.mark.parametrize(
    "path", ["/mcp", "/authorize", "/sign-in", "/.well-known/oauth-protected-resource"]
)
def test_under_a_foreign_name_nothing_is_served(host: str, path: str) -> None:
    with site("laptop") as place:
        method = "POST" if path == "/mcp" else "GET"
        answer = place.send(method, path, headers={"host": host})

        assert answer.status in (403, 421)
        assert b"evil" not in answer.body


@attack("R20")
@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost.evil.test", "null"])
def test_a_page_of_a_foreign_origin_may_not_call(origin: str) -> None:
    with site("laptop") as place:
        token = place.api_token()
        headers = {"authorization": f"Bearer {token}", "origin": origin}
        called = place.post_json(f"/mcp/{place.being}", CALL, headers)
        asked = place.post_form("/token", {"grant_type": "x"}, {"origin": origin})
        registered = place.post_json("/register", {}, {"origin": origin})

        assert (called.status, asked.status, registered.status) == (403, 403, 403)
        assert place.calls == []


@attack("R21")
@attack("R22")
@pytest.mark.parametrize("path", ["/mcp", "/token", "/register", "/revoke"])
def test_an_allowed_page_may_ask_and_never_with_cookies(path: str) -> None:
    with site("laptop") as place:
        origin = {"origin": "https://allowed.example"}
        preflight = place.send(
            "OPTIONS", path, headers={**origin, "access-control-request-method": "POST"}
        )
        answer = place.post_json(path, CALL, origin)

        assert preflight.status == 204
        for each in (preflight, answer):
            assert each["access-control-allow-origin"] == "https://allowed.example"
            assert "authorization" in each["access-control-allow-headers"]
            assert "www-authenticate" in each["access-control-expose-headers"].lower()
            assert not each["access-control-allow-credentials"]


@attack("R22")
def test_a_page_that_is_not_allowed_gets_no_permission() -> None:
    with site("laptop") as place:
        answer = place.send("OPTIONS", "/token", headers={"origin": "https://evil.example"})

        assert answer.status == 403
        assert not answer["access-control-allow-origin"]


@attack("R21")
def test_an_owners_pages_are_for_no_other_origin() -> None:
    with site("laptop") as place:
        answer = place.get("/sign-in", {"origin": "https://allowed.example"})

        assert not answer["access-control-allow-origin"]


@attack("R23")
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_there_is_no_stream_and_no_session(place: Site, method: str) -> None:
    token = place.api_token()
    path = f"/mcp/{place.being}"
    answer = place.send(method, path, headers={"authorization": f"Bearer {token}"})

    assert (answer.status, answer["allow"]) == (405, "POST")
    assert place.send(method, path).status == 401


@attack("X5")
def test_a_cached_answer_opens_no_other_being() -> None:
    """API Gateway keeps the authorizer's answer by the token, for every path."""
    with site("gateway") as place:
        front = place.front
        assert isinstance(front, GatewayFront)
        other = place.authority.beings.create("Bob", owner="me").being_id
        token = place.api_token()
        context = front.said(f"Bearer {token}")
        sent = Sent("POST", f"/mcp/{other}", {}, json.dumps(CALL).encode())

        assert front.to_function(http_api_event(sent, context)).status == 403
        assert context == front.said(f"Bearer {token}")


@attack("X5")
def test_a_revoked_token_is_refused_at_the_next_look(place: Site) -> None:
    issued = place.authority.tokens.issue(
        API, being_id=place.being, owner="me", scopes=FULL, lifetime=timedelta(days=1)
    )
    path = f"/mcp/{place.being}"
    before = place.call(issued.token, path=path).status
    place.authority.tokens.revoke(issued.record.token_id, being_id=place.being)

    assert (before, place.call(issued.token, path=path).status) == (200, 401)


@attack("R3")
def test_a_token_for_another_address_is_refused(place: Site) -> None:
    """A table that was copied to another deployment opens nothing there."""
    _, tokens = connected(place)
    row = place.authority.tokens.lookup(digest(tokens.access))
    assert row is not None
    for resource in ("https://elsewhere.example/mcp", f"{place.base}/mcp/{MISSING}", "", None):
        place.tokens.put({**row, "resource": resource})
        assert place.call(tokens.access).status == 401

    place.tokens.put({**row, "resource": f"{place.base}/mcp/{place.being}"})
    assert place.call(tokens.access).status == 200
    assert Key(*token_key(digest(tokens.access))) == Key.of(row)


@attack("X8")
def test_while_the_store_is_down_nobody_comes_in(place: Site) -> None:
    token = place.api_token()
    place.stop_store()
    if isinstance(place.front, GatewayFront):
        with pytest.raises(UnavailableError):  # the function fails, and API Gateway answers 500
            place.call(token)
    else:
        assert place.call(token, path=f"/mcp/{place.being}").status in (500, 503)
    asked = place.post_form("/token", {"grant_type": "refresh_token", "client_id": "client_x"})

    assert asked.status == 503
    assert place.get("/.well-known/oauth-authorization-server").status == 200
    assert place.calls == []


def test_the_front_of_the_tests_is_as_strict_as_api_gateway() -> None:
    with site("gateway") as place:
        assert place.call(None).text == '{"message":"Unauthorized"}'
        assert not place.call("x")["www-authenticate"]
        assert LambdaContext.function_name
