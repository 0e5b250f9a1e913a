"""The evaluator: verdicts over HTTP and by direct invocation, and who may ask."""

import base64
import io
import json
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from typing import Any

import pytest

from nacre.core.errors import UnavailableError
from nacre.faces.evaluator.evaluator_function import policy_handler
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import PolicyInForce

BEING = "0b5ad6a5-7a4f-4c6e-9a41-0f6f8b7d3c11"
POLICY = load_policy(
    """
[[rule]]
action = "deny"
tool = "shell_*"
description = "No shells"

[[rule]]
action = "prompt"
tool = "remove"

[[rule]]
action = "allow"
tool = "read"
args.path = "/srv/**"
server = "files"

[[rule]]
action = "allow"
tool = "count"
args.n = 1000

[[rule]]
action = "allow"
tool = "see"
args.path = "~/notes/**"
""",
    source="p.toml",
)


@dataclass
class World:
    """A handler over one policy, who asked for whose, and what was logged."""

    asked: list[str | None] = field(default_factory=list)
    failure: Exception | None = None
    log: io.StringIO = field(default_factory=io.StringIO)

    def of(self, being_id: str | None) -> PolicyInForce:
        self.asked.append(being_id)
        if self.failure is not None:
            raise self.failure
        return PolicyInForce(POLICY, "global", 3)

    def handle(self, event: Any) -> dict[str, Any]:
        with redirect_stderr(self.log):
            return policy_handler(lambda _: self)(event, None)

    def post(self, body: Any, **others: Any) -> tuple[int, Any]:
        text = body if isinstance(body, str) else json.dumps(body)
        known = {"auth": "ok", "being_id": BEING, "token_id": "tok_1", "scopes": "mcp:read"}
        event = {
            "version": "2.0",
            "requestContext": {"authorizer": {"lambda": known}},
            "body": text,
            **others,
        }
        answer = self.handle(event)
        assert answer["headers"]["content-type"] == "application/json"
        return answer["statusCode"], json.loads(answer["body"])


@pytest.fixture
def world() -> World:
    return World()


def call(tool: str, server: str = "files", **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"method": "tools/call", "params": params, "server": server}


PLACE = {"scope": "global", "version": 3, "digest": POLICY.digest, "mode": "enforce"}


def test_a_call_gets_the_verdict_of_the_policy(world: World) -> None:
    status, answer = world.post(call("shell_execute"))

    assert status == 200
    assert answer == {
        "decision": "deny",
        "rule": 1,
        "description": "No shells",
        "text": "No shells",
        "policy": PLACE,
    }
    assert world.asked == [BEING]


@pytest.mark.parametrize(
    ("asked", "decision"),
    [
        (call("read", path="/srv/a"), "allow"),
        (call("read", path="/srv/../etc/passwd"), "deny"),
        (call("read", path="/srv/%2e%2e/etc/passwd"), "deny"),
        (call("read", "disk", path="/srv/a"), "deny"),
        (call("remove"), "prompt"),
        (call("unknown"), "deny"),
        (call("count", n=1000), "allow"),
        (call("see", path="/home/ann/notes/a") | {"where": {"home": "/home/ann"}}, "allow"),
        (call("see", path="/home/bob/notes/a") | {"where": {"home": "/home/ann"}}, "deny"),
        ({"jsonrpc": "2.0", "id": 7, **call("read", path="/srv/a")}, "allow"),
        ({"method": "tools/call", "params": {"name": "shell_x"}}, "deny"),
        ({"method": "tools/call", "params": {"name": 7}, "server": "files"}, "deny"),
        ({"method": "tools/call", "params": None}, "deny"),
        ({"method": "tools/call", "params": {"name": "read", "arguments": None}}, "deny"),
        ({"method": "tools/Call", "params": call("read", path="/srv/a")["params"]}, "deny"),
        ({"method": "tools/call", "params": {"Name": "read"}}, "deny"),
        ({"method": "resources/read", "params": {"uri": "file:///srv/a"}}, "deny"),
        ({"method": "ping"}, "allow"),
        ({"method": "notifications/progress", "params": {}}, "allow"),
    ],
    ids=lambda value: value if isinstance(value, str) else json.dumps(value)[:60],
)
def test_a_decision_is_that_of_every_other_place(
    world: World, asked: dict[str, Any], decision: str
) -> None:
    status, answer = world.post(asked)

    assert (status, answer["decision"]) == (200, decision)


def test_links_are_never_followed_for_somebody_elsewhere(world: World) -> None:
    asked = call("read", path="/srv/a") | {"where": {"is_local": True}}

    status, answer = world.post(asked)

    assert (status, answer["decision"]) == (400, "deny")
    assert "leave it out" in answer["error"]


def test_several_calls_are_decided_at_once(world: World) -> None:
    calls = [call("read", path="/srv/a") | {"expected": "allow"}, call("remove")]
    calls.append(call("shell_x") | {"expected": "allow"})

    status, answer = world.post({"calls": calls})

    assert (status, answer["policy"]) == (200, PLACE)
    assert [
        (each["decision"], each.get("expected"), each.get("as_expected"))
        for each in answer["calls"]
    ] == [("allow", "allow", True), ("prompt", None, None), ("deny", "allow", False)]
    assert world.asked == [BEING], "they are decided by one version"


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[]",
        "7",
        "{}",
        '{"method": "tools/call", "method": "ping"}',
        '{"method": "tools/call", "sever": "files"}',
        '{"method": "tools/call", "expected": "maybe"}',
        '{"method": "tools/call", "params": {"n": NaN}}',
        '{"calls": []}',
        '{"calls": {}}',
        '{"calls": [{"method": "ping"}], "server": "files"}',
        '{"calls": [{"method": "ping"}, 7]}',
        json.dumps({"calls": [{"method": "ping"}] * 101}),
        '{"being": "other", "method": "ping"}',
        "[" * 100,
        '{"method": "\\ud800"}',
    ],
)
def test_what_describes_no_call_is_denied_and_explained(world: World, body: str) -> None:
    status, answer = world.post(body)

    assert (status, answer["decision"]) == (400, "deny")
    assert answer["error"]


def test_a_body_may_come_in_base64(world: World) -> None:
    body = base64.b64encode(json.dumps(call("remove")).encode()).decode()

    assert world.post(body, isBase64Encoded=True)[1]["decision"] == "prompt"
    assert world.post("!", isBase64Encoded=True)[0] == 400


@pytest.mark.parametrize(
    "authorizer",
    [
        None,
        {},
        {"lambda": None},
        {"lambda": {}},
        {"lambda": {"auth": "invalid"}},
        {"lambda": {"auth": "ok"}},
        {"lambda": {"auth": "ok", "being_id": ""}},
        {"lambda": {"being_id": BEING}},
    ],
)
def test_whom_the_authorizer_did_not_vouch_for_is_refused(
    world: World, authorizer: dict[str, Any] | None
) -> None:
    context: dict[str, Any] = {} if authorizer is None else {"authorizer": authorizer}
    body = json.dumps(call("read", path="/srv/a"))

    answer = world.handle({"version": "2.0", "requestContext": context, "body": body})

    assert answer["statusCode"] == 401
    assert json.loads(answer["body"]) == {"decision": "deny", "error": "invalid_token"}
    assert world.asked == []


def test_a_front_that_says_nothing_of_the_caller_is_no_direct_invocation(world: World) -> None:
    assert world.handle({"requestContext": None, **call("read", path="/srv/a")}) == {
        "statusCode": 401,
        "headers": {"content-type": "application/json", "cache-control": "no-store"},
        "body": '{"decision":"deny","error":"invalid_token"}',
    }


def test_a_direct_invocation_is_the_body_itself(world: World) -> None:
    answer = world.handle(call("remove") | {"being": BEING})
    nobodys = world.handle({"calls": [call("remove")]})

    assert (answer["decision"], answer["policy"]) == ("prompt", PLACE)
    assert nobodys["calls"][0]["decision"] == "prompt"
    assert world.asked == [BEING, None]


@pytest.mark.parametrize("event", [{}, [], None, "x", {"being": 7}, {"method": 7}])
def test_a_direct_invocation_that_is_wrong_is_denied(world: World, event: Any) -> None:
    answer = world.handle(event)

    assert answer["decision"] == "deny"
    assert answer["error"]


def test_without_a_policy_everything_is_denied(world: World) -> None:
    world.failure = UnavailableError("table t: 403", public="the policy cannot be read now")

    status, answer = world.post(call("read", path="/srv/a"))
    directly = world.handle(call("read", path="/srv/a"))

    assert (status, answer["decision"]) == (503, "deny")
    assert answer["error"] == directly["error"] == "the policy cannot be read now"
    assert "table t: 403" in world.log.getvalue()


def test_a_fault_of_ours_is_denied_without_its_words(world: World) -> None:
    world.failure = ZeroDivisionError("/srv/secret")

    status, answer = world.post(call("read", path="/srv/a"))

    assert (status, answer["decision"]) == (500, "deny")
    assert "secret" not in json.dumps(answer) + world.log.getvalue()


def test_each_decision_is_a_line_without_its_arguments(world: World) -> None:
    world.post(call("read", path="/srv/private"))

    [line] = [json.loads(line) for line in world.log.getvalue().splitlines()]
    assert {name: line[name] for name in line if name not in ("timestamp", "ms")} == {
        "level": "info",
        "event": "policy",
        "decision": "allow",
        "rule": 3,
        "server": "files",
        "name": "read",
        "being": BEING,
        "token": "tok_1",
        "version": 3,
    }


def test_a_line_repeats_no_secret_that_stands_in_the_place_of_a_name(world: World) -> None:
    world.post(call(f"ghp_{'aB3' * 12}"))

    assert json.loads(world.log.getvalue())["name"] == "[redacted: github-token]"
