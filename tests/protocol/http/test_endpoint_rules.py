"""The HTTP rules of the MCP endpoint, in both eras, without a server around them."""

import base64
import json
from typing import Any

import pytest

from nacre.core.coroutines import step
from nacre.core.errors import ForbiddenError, UnauthorizedError
from nacre.faces.mcp_endpoint import MirroredSchemas, Rules
from nacre.protocol.context import Silence
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.endpoint_rules import Endpoint
from nacre.protocol.http.http_messages import HttpCall, HttpReply, HttpRequest
from nacre.protocol.principal import FULL, READ_ONLY, Principal
from nacre.protocol.versions import LEGACY_VERSIONS, SUPPORTED_VERSIONS
from tests.protocol.surface import SmallServer, elicit, small_dispatcher

MODERN = "2026-07-28"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
Body = dict[str, Any]


def admit(request: HttpRequest, path_being: str | None, query_being: str | None) -> Principal:
    match request.headers.get("authorization"):
        case None:
            raise UnauthorizedError("no token", presented=False)
        case "Bearer full":
            return Principal("t1", "b1", FULL)
        case "Bearer read":
            return Principal("t2", "b1", READ_ONLY)
        case "Bearer elsewhere":
            raise ForbiddenError("this token does not open that Being")
        case _:
            raise UnauthorizedError("bad token", presented=True)


def challenge(error: Exception, request: HttpRequest) -> str | None:
    return f"Bearer test={type(error).__name__}"


def endpoint(fences: Fences | None = None) -> Endpoint:
    return Endpoint(
        small_dispatcher(),
        rules=Rules(),
        admit=admit,
        challenge=challenge,
        schema_of=MirroredSchemas(SmallServer()).of,
        fences=fences,
    )


def send(
    body: Body | bytes | None,
    *,
    headers: dict[str, str | None] | None = None,
    method: str = "POST",
    path: str = "/mcp",
    fences: Fences | None = None,
) -> HttpReply:
    """Send one request; headers given as None are left out."""
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    sent = {"authorization": "Bearer full", "content-type": "application/json", **(headers or {})}
    known = {name: value for name, value in sent.items() if value is not None}
    begun = endpoint(fences).begin(HttpRequest(method, path, {}, known, raw))
    if isinstance(begun, HttpCall):
        return step(begun.run(Silence()))
    return begun


def legacy(method: str, params: Body | None = None, **headers: str | None) -> HttpReply:
    return send(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}, headers=headers
    )


def under(version: str, method: str) -> HttpReply:
    body = {"jsonrpc": "2.0", "id": 1, "method": method}
    return send(body, headers={"mcp-protocol-version": version})


def modern(
    method: str, params: Body | None = None, *, headers: dict[str, str | None] | None = None
) -> HttpReply:
    params = {"_meta": META, **(params or {})}
    mirrored: dict[str, str | None] = {"mcp-protocol-version": MODERN, "mcp-method": method}
    name = params.get("name", params.get("uri"))
    if isinstance(name, str):
        mirrored["mcp-name"] = name
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return send(body, headers={**mirrored, **(headers or {})})


def body_of(done: HttpReply) -> Any:
    return json.loads(done.body)


def error_of(done: HttpReply) -> tuple[int, int]:
    return done.status, body_of(done)["error"]["code"]


# Legacy clients.


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_initialize_answers_the_version_that_was_asked_for(version: str) -> None:
    done = legacy("initialize", {"protocolVersion": version, "capabilities": {}})

    assert (done.status, body_of(done)["result"]) == (
        200,
        {
            "protocolVersion": version,
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
            "serverInfo": {"name": "small", "version": "1.2.3"},
            "instructions": "Be brief.",
        },
    )


@pytest.mark.parametrize("version", ["1999-01-01", MODERN, 7, None])
def test_initialize_answers_the_newest_legacy_version_to_any_other(version: object) -> None:
    done = legacy("initialize", {"protocolVersion": version})

    assert body_of(done)["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.requirement("003.transport.stateless")
def test_no_session_id_is_ever_issued() -> None:
    done = legacy("initialize", {"protocolVersion": "2025-11-25"})

    assert {name for name, _ in done.headers} == {"content-type"}


def test_a_legacy_list_has_no_modern_fields() -> None:
    assert set(body_of(legacy("tools/list"))["result"]) == {"tools"}


def test_a_legacy_client_sees_no_structure_that_its_revision_lacks() -> None:
    listed = body_of(legacy("tools/list"))["result"]["tools"]
    called = body_of(legacy("tools/call", {"name": "scores"}))["result"]

    assert "outputSchema" not in next(tool for tool in listed if tool["name"] == "scores")
    assert called == {"content": [{"type": "text", "text": "[1]"}]}


def test_a_modern_client_sees_structure_of_any_kind() -> None:
    listed = body_of(modern("tools/list"))["result"]["tools"]
    called = body_of(modern("tools/call", {"name": "scores"}))["result"]

    assert next(tool for tool in listed if tool["name"] == "scores")["outputSchema"] == {
        "type": "array"
    }
    assert called["structuredContent"] == [1]


def test_a_legacy_call_runs_its_tool() -> None:
    done = legacy("tools/call", {"name": "echo", "arguments": {"text": "hi"}})

    assert body_of(done) == {
        "jsonrpc": "2.0",
        "id": 1,
        "result": {"content": [{"type": "text", "text": "hi"}]},
    }


def test_ping_is_answered() -> None:
    assert body_of(legacy("ping"))["result"] == {}


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_subscribing_is_refused_where_nobody_can_be_told(method: str) -> None:
    assert error_of(legacy(method, {"uri": "test://one"})) == (200, -32601)


def test_a_log_level_is_refused_where_nobody_remembers_it() -> None:
    assert error_of(legacy("logging/setLevel", {"level": "error"})) == (200, -32601)


def test_a_legacy_client_learns_of_an_unknown_method_with_status_200() -> None:
    assert error_of(legacy("server/discover")) == (200, -32601)
    assert error_of(legacy("nonsense")) == (200, -32601)


def test_a_legacy_client_knows_a_missing_resource_by_its_own_code() -> None:
    assert error_of(legacy("resources/read", {"uri": "test://nine"})) == (200, -32002)


def test_a_legacy_client_that_cannot_be_asked_gets_a_result_its_model_can_read() -> None:
    result = body_of(legacy("tools/call", {"name": "ask"}))["result"]

    assert (result["isError"], "elicitation" in result["content"][0]["text"]) == (True, True)


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_later_requests_may_name_any_legacy_version(version: str) -> None:
    assert under(version, "ping").status == 200


@pytest.mark.parametrize("version", LEGACY_VERSIONS)
def test_a_legacy_version_in_header_and_metadata_alike_is_served(version: str) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": version}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": meta}}

    assert send(body, headers={"mcp-protocol-version": version}).status == 200


# Modern clients.


def test_discover_tells_what_is_served() -> None:
    done = modern("server/discover")

    assert (done.status, body_of(done)["result"]) == (
        200,
        {
            "resultType": "complete",
            "supportedVersions": list(SUPPORTED_VERSIONS),
            "capabilities": {
                **{"tools": {}, "resources": {}, "prompts": {}, "completions": {}},
                "logging": {},
            },
            "instructions": "Be brief.",
            "ttlMs": 300_000,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "small", "version": "1.2.3"}},
        },
    )


@pytest.mark.parametrize(
    ("method", "params", "kept"),
    [
        ("server/discover", {}, 300_000),
        ("tools/list", {}, 300_000),
        ("prompts/list", {}, 300_000),
        ("resources/list", {}, 300_000),
        ("resources/templates/list", {}, 300_000),
        ("resources/read", {"uri": "test://one"}, 0),  # it may change at any moment
    ],
)
def test_what_may_be_cached_says_for_how_long(method: str, params: Body, kept: int) -> None:
    result = body_of(modern(method, params))["result"]

    assert (result["ttlMs"], result["cacheScope"], result["resultType"]) == (
        kept,
        "private",
        "complete",
    )


def test_a_modern_call_is_complete_and_signed_by_the_server() -> None:
    result = body_of(modern("tools/call", {"name": "echo"}))["result"]

    assert result == {
        "resultType": "complete",
        "content": [{"type": "text", "text": "echo"}],
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "small", "version": "1.2.3"}},
    }


@pytest.mark.parametrize(
    "method",
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "subscriptions/listen", "x"],
)
def test_what_the_modern_era_lacks_is_not_found(method: str) -> None:
    assert error_of(modern(method)) == (404, -32601)


@pytest.mark.parametrize(
    "missing",
    ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"],
)
def test_required_metadata_is_named_when_it_is_missing(missing: str) -> None:
    meta = {key: value for key, value in META.items() if key != missing}
    done = modern("tools/list", {"_meta": meta})

    assert (error_of(done), missing in body_of(done)["error"]["message"]) == ((400, -32602), True)


@pytest.mark.parametrize(
    ("headers", "named"),
    [
        ({"mcp-protocol-version": None}, "MCP-Protocol-Version"),
        ({"mcp-protocol-version": "2025-11-25"}, "MCP-Protocol-Version"),
        ({"mcp-method": None}, "Mcp-Method"),
        ({"mcp-method": "tools/list"}, "Mcp-Method"),
        ({"mcp-method": "Tools/Call"}, "Mcp-Method"),
        ({"mcp-name": None}, "Mcp-Name"),
        ({"mcp-name": "write"}, "Mcp-Name"),
        ({"mcp-name": "echo, write"}, "Mcp-Name"),
        ({"mcp-name": "=?base64?!!!?="}, "Mcp-Name"),
        ({"mcp-name": "écho"}, "Mcp-Name"),
    ],
)
def test_headers_that_contradict_the_body_are_refused(
    headers: dict[str, str | None], named: str
) -> None:
    done = modern("tools/call", {"name": "echo"}, headers=headers)

    assert (error_of(done), named in body_of(done)["error"]["message"]) == ((400, -32020), True)


def test_a_name_may_travel_in_base64() -> None:
    encoded = f"=?base64?{base64.b64encode(b'echo').decode()}?="

    assert modern("tools/call", {"name": "echo"}, headers={"mcp-name": encoded}).status == 200


@pytest.mark.parametrize(
    ("arguments", "headers", "status"),
    [
        ({"region": "eu"}, {"mcp-param-region": "eu"}, 200),
        ({"region": " é"}, {"mcp-param-region": "=?base64?IMOp?="}, 200),
        ({"place": {"floor": 42}}, {"mcp-param-floor": "42.0"}, 200),
        ({}, {}, 200),
        ({"region": None}, {}, 200),
        ({"region": "eu"}, {}, 400),
        ({"region": "eu"}, {"mcp-param-region": "us"}, 400),
        ({}, {"mcp-param-region": "eu"}, 400),
        ({"place": {"floor": 42}}, {"mcp-param-floor": "4.2e1"}, 400),
        ({"place": {"floor": True}}, {"mcp-param-floor": "1"}, 400),
        ({"place": {"floor": 42}}, {"mcp-param-floor": "42.5"}, 400),
        ({"place": {"floor": 2.5}}, {"mcp-param-floor": "2.50"}, 200),
        # Neighbours that a double cannot tell apart, and a number beyond every double.
        ({"place": {"floor": 2**53}}, {"mcp-param-floor": str(2**53 + 1)}, 400),
        ({"place": {"floor": 10**400}}, {"mcp-param-floor": str(10**400)}, 200),
        ({"place": {"floor": 1}}, {"mcp-param-floor": "1" * 5000}, 400),
    ],
)
def test_mirrored_parameters_must_match(
    arguments: Body, headers: dict[str, str | None], status: int
) -> None:
    params = {"name": "located", "arguments": arguments}

    assert modern("tools/call", params, headers=headers).status == status


@pytest.mark.parametrize("version", ["1900-01-01", "2027-01-01", ""])
def test_a_version_that_is_not_served_is_answered_with_those_that_are(version: str) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": version}
    done = modern("tools/list", {"_meta": meta}, headers={"mcp-protocol-version": version})

    assert (error_of(done), body_of(done)["error"]["data"]) == (
        (400, -32022),
        {"supported": list(SUPPORTED_VERSIONS), "requested": version},
    )


def test_a_legacy_client_with_an_unknown_version_header_is_told_which_are_served() -> None:
    assert error_of(under("1900-01-01", "tools/list")) == (400, -32022)


def test_an_unknown_tool_is_an_error_of_the_request() -> None:
    assert error_of(modern("tools/call", {"name": "nothing"})) == (400, -32602)


def test_wrong_arguments_are_a_result_that_names_them() -> None:
    result = body_of(modern("tools/call", {"name": "echo", "arguments": {"text": 7}}))["result"]

    assert (result["isError"], result["content"][0]["text"]) == (
        True,
        "Error: argument 'text': expected a string",
    )


def test_a_tool_that_breaks_shows_nothing_of_its_inside() -> None:
    done = modern("tools/call", {"name": "broken"})

    assert body_of(done)["result"]["isError"] is True
    assert b"secret detail" not in done.body
    assert isinstance(done.cause, RuntimeError)


def test_a_missing_resource_is_an_error_of_the_request() -> None:
    assert error_of(modern("resources/read", {"uri": "test://nine"})) == (400, -32602)


def test_prompts_and_completions_are_answered() -> None:
    prompt = modern("prompts/get", {"name": "greet", "arguments": {"who": "Ann"}})
    completion = modern(
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "greet"}, "argument": {"name": "who", "value": "A"}},
        headers={"mcp-name": None},
    )

    assert body_of(prompt)["result"]["messages"][0]["content"]["text"] == "Hello Ann"
    assert body_of(completion)["result"]["completion"]["values"] == ["Aa"]


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"ref": [], "argument": {"name": "a", "value": "b"}}, "'ref'"),
        ({"ref": {}, "argument": {"name": "a"}}, "'argument.value'"),
        (
            {"ref": {}, "argument": {"name": "a", "value": "b"}, "context": {"arguments": 1}},
            "context",
        ),
    ],
)
def test_a_wrong_completion_request_is_named(params: Body, named: str) -> None:
    assert named in body_of(modern("completion/complete", params))["error"]["message"]


@pytest.mark.parametrize("cursor", ["1", "-1", "x", 3, "99999999999"])
def test_a_cursor_that_was_not_issued_is_refused(cursor: object) -> None:
    assert error_of(modern("tools/list", {"cursor": cursor})) == (400, -32602)


# Calls that ask the client.


def round_trip(state: str | None, responses: Body | None) -> HttpReply:
    params: Body = {"name": "ask"}
    if state is not None:
        params["requestState"] = state
    if responses is not None:
        params["inputResponses"] = responses
    return modern("tools/call", params)


def accepted(name: str) -> Body:
    return {"action": "accept", "content": {"name": name}}


def test_a_call_asks_round_by_round_until_it_is_complete() -> None:
    first = body_of(round_trip(None, None))["result"]
    second = body_of(round_trip(first["requestState"], {"first": accepted("Ann")}))["result"]
    third = body_of(round_trip(second["requestState"], {"second": accepted("Lee")}))["result"]

    assert (first["resultType"], first["inputRequests"]) == (
        "input_required",
        {"first": elicit("Your name?")},
    )
    assert "ttlMs" not in first
    assert second["inputRequests"] == {"second": elicit("Your other name?")}
    assert second["requestState"] != first["requestState"]
    assert third["content"][0]["text"] == "Ann Lee"


def test_an_answer_that_is_missing_is_asked_for_again() -> None:
    first = body_of(round_trip(None, None))["result"]
    again = body_of(round_trip(first["requestState"], {"unasked": accepted("Ann")}))["result"]

    assert again["inputRequests"] == {"first": elicit("Your name?")}


def test_a_tampered_state_is_refused() -> None:
    first = body_of(round_trip(None, None))["result"]

    assert error_of(round_trip(first["requestState"] + "x", {})) == (400, -32602)


def test_an_answer_that_is_no_object_is_refused() -> None:
    assert error_of(round_trip(None, {"first": "Ann"})) == (400, -32602)


def test_a_client_without_the_capability_is_told_which_one_is_needed() -> None:
    meta = {**META, "io.modelcontextprotocol/clientCapabilities": {}}
    done = modern("tools/call", {"name": "ask", "_meta": meta})

    assert (error_of(done), body_of(done)["error"]["data"]) == (
        (400, -32021),
        {"requiredCapabilities": {"elicitation": {}}},
    )


# The door.


def test_a_fault_at_the_door_is_an_answer_too() -> None:
    def broken(request: HttpRequest, path: str | None, query: str | None) -> Principal:
        raise RuntimeError("secret detail")

    served = Endpoint(
        small_dispatcher(),
        rules=Rules(),
        admit=broken,
        challenge=challenge,
        schema_of=lambda _name, _principal: None,
    )
    done = served.begin(HttpRequest("POST", "/mcp", {}, {}, b"{}"))

    assert isinstance(done, HttpReply)
    assert (done.status, b"secret" in done.body) == (500, False)


def test_without_a_token_everything_is_401() -> None:
    for method in ("POST", "GET", "DELETE"):
        done = send(None, headers={"authorization": None}, method=method)

        assert (done.status, dict(done.headers)["www-authenticate"]) == (
            401,
            "Bearer test=UnauthorizedError",
        )


@pytest.mark.requirement("003.transport.get")
@pytest.mark.requirement("003.transport.delete")
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"])
def test_only_post_is_allowed(method: str) -> None:
    done = send(None, method=method)

    assert (done.status, dict(done.headers)["allow"]) == (405, "POST")


def test_a_read_only_token_may_read_but_not_write() -> None:
    reads = {"authorization": "Bearer read"}
    done = modern("tools/call", {"name": "write"}, headers={**reads})

    assert modern("tools/call", {"name": "echo"}, headers={**reads}).status == 200
    assert (done.status, dict(done.headers)["www-authenticate"]) == (
        403,
        "Bearer test=InsufficientScopeError",
    )


def test_another_beings_token_is_403() -> None:
    assert legacy("tools/list", authorization="Bearer elsewhere").status == 403


@pytest.mark.parametrize(
    "path", ["/mcpx", "/mcp/a/b", "/mcp/%00", "/mcp/\x00", "/mcp/..", "/mcp/" + "a" * 65, '/mcp/"']
)
def test_a_malformed_path_is_404_with_nothing_reflected(path: str) -> None:
    done = send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, path=path)

    assert (done.status, done.body) == (404, b"")


@pytest.mark.requirement("003.transport.post")
@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp/b1", "/mcp/b1/"])
def test_the_endpoint_has_these_paths(path: str) -> None:
    assert send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, path=path).status == 200


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", (400, -32700)),
        (b"{", (400, -32700)),
        (b"\xff", (400, -32700)),
        (b"[]", (400, -32600)),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]', (400, -32600)),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', (400, -32600)),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', (400, -32600)),
        (b'{"jsonrpc":"2.0","method":"tools/call"}', (400, -32600)),
        (b" " * (4 * 1024 * 1024 + 1), (413, -32600)),
    ],
)
def test_a_message_that_cannot_be_read_is_refused(raw: bytes, expected: tuple[int, int]) -> None:
    assert error_of(send(raw)) == expected


def test_a_refusal_carries_the_id_when_it_could_be_read() -> None:
    assert body_of(send(b'{"id":7,"method":"ping"}'))["id"] == 7
    assert body_of(send(b'{"jsonrpc":"2.0","id":0,"method":3}'))["id"] == 0


def test_notifications_are_accepted_without_a_body() -> None:
    done = send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert (done.status, done.body) == (202, b"")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"content-type": None}, 200),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"accept": None}, 200),
        ({"accept": "text/event-stream, application/json"}, 200),
        ({"accept": "*/*"}, 200),
        ({"accept": "application/*;q=0.5"}, 200),
        ({"accept": "text/html"}, 406),
    ],
)
def test_types_are_taken_leniently(headers: dict[str, str | None], status: int) -> None:
    assert send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers).status == status


LOCAL = Fences(
    hosts=frozenset({"localhost", "127.0.0.1", "[::1]"}),
    origins=frozenset({"localhost", "127.0.0.1", "[::1]"}),
    cors=frozenset({"https://app.example"}),
)


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("localhost:8000", None, 200),
        ("127.0.0.1", None, 200),
        ("[::1]:8000", None, 200),
        ("LOCALHOST", None, 200),
        ("localhost", "http://localhost:3000", 200),
        ("localhost", "https://app.example", 200),
        ("evil.example", None, 403),
        ("", None, 403),
        ("localhost.evil.example", None, 403),
        ("[::1].evil.example", None, 403),
        ("[::1", None, 403),
        ("localhost", "http://evil.example", 403),
        ("localhost", "null", 403),
        ("localhost", "http://localhost.evil.example", 403),
    ],
)
def test_foreign_hosts_and_origins_stay_out(host: str, origin: str | None, status: int) -> None:
    done = send(
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        headers={"host": host, "origin": origin},
        fences=LOCAL,
    )

    assert done.status == status


def test_a_preflight_of_an_allowed_origin_needs_no_token() -> None:
    done = send(
        None,
        method="OPTIONS",
        headers={"host": "localhost", "origin": "https://app.example", "authorization": None},
        fences=LOCAL,
    )
    headers = dict(done.headers)

    assert (done.status, headers["access-control-allow-origin"]) == (204, "https://app.example")
    assert "access-control-allow-credentials" not in headers


def test_a_preflight_may_ask_for_mirrored_parameters_and_nothing_else() -> None:
    asked = "Mcp-Param-Region, mcp-param-floor, x-evil, mcp-param-"
    done = send(
        None,
        method="OPTIONS",
        headers={
            "host": "localhost",
            "origin": "https://app.example",
            "access-control-request-headers": asked,
        },
        fences=LOCAL,
    )
    allowed = dict(done.headers)["access-control-allow-headers"].split(", ")

    assert allowed[-2:] == ["mcp-param-region", "mcp-param-floor"]
    assert "x-evil" not in allowed


def test_an_allowed_origin_may_read_refusals() -> None:
    done = send(
        None,
        headers={"host": "localhost", "origin": "https://app.example", "authorization": None},
        fences=LOCAL,
    )

    assert (done.status, dict(done.headers)["access-control-expose-headers"]) == (
        401,
        "www-authenticate",
    )
