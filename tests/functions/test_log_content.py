"""The log of every handler: one object a line, with known fields, without content of calls."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from nacre.access.beings import Beings
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.being.application import being_server
from nacre.core.clock import system_clock
from nacre.firewall.policies.version_store import PolicyVersions
from tests.infra.declared import FUNCTIONS, ROOT
from tests.scaffolding.aws_stack import REGION, aws_stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, dynamodb_over_http
from tests.scaffolding.lambda_events import FULL_ACCESS, Sent, http_api_event
from tests.scaffolding.lambda_functions import environment, task

Event = dict[str, Any]

SAID = "canary"  # stands in everything that a caller sends
TOKEN = f"brt_{SAID}0123456789abcdefghijklmnopqrstuvwxyz012345"
LLM_KEY = f"sk-{SAID}-0123456789"
POLICY = """
[[rule]]
action = "deny"
tool = "get_context"

[[rule]]
action = "allow"
tool = "*"
"""

# Every field that a line may have; each is an id, a number, or a word of ours.
FIELDS = {
    *("timestamp", "level", "event"),
    *("method", "tool", "being", "token", "request", "status", "ms", "error"),
    "said",  # what a service of AWS answered
    *("message", "group", "attempt"),  # of a job
    *("decision", "rule", "server", "name", "version"),  # of a verdict
    *("outcome", "owner", "client"),  # of a login
    # A record of the audit, see docs/concepts/policy.md.
    *("audit", "sender", "policy", "principal", "arguments_sha256", "enforced"),
}
METRICS = {
    *("_aws", "Stack", "Latency", "Refusals", "Faults", "PolicyDenials", "JobFailures"),
    *("PatrolLag", "PatrolBacklog", "IndexDrift", "LlmTokens", "LlmDollars", "SpendCaps"),
    "Patrols",
}


pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class World:
    """A deployed stack's tables, and a Being with a policy."""

    variables: Mapping[str, str]
    being: str


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with aws_stack("nacre-logs") as stack, dynamodb_over_http(stack) as front:
        table = DynamoTable(stack.dynamodb, stack.ids["DataTable"])
        being = Beings(table, clock=system_clock, rng=Random(7)).create("Ann", owner="me").being_id
        PolicyVersions(table, clock=system_clock).push(
            being, POLICY, source="p.toml", based_on=0, by="me"
        )
        yield World(
            {
                "AWS_ENDPOINT_URL": front.url,
                "AWS_ACCESS_KEY_ID": CREDENTIALS.access_key_id,
                "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_access_key,
                "AWS_SESSION_TOKEN": CREDENTIALS.session_token,
                "AWS_REGION": REGION,
                "NACRE_DATA_TABLE": stack.ids["DataTable"],
                "NACRE_TOKENS_TABLE": stack.ids["TokensTable"],
            },
            being,
        )


# What is sent.


def filled(schema: Mapping[str, Any]) -> Any:
    """Return a value that a schema takes, with the canary wherever there is a text."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            return {name: filled(each) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [filled(schema.get("items", {"type": "string"}))]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return f"{SAID} of a text"


def rpc(method: str, params: Any = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()


def mcp_events(being: str) -> Iterator[Event]:
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {TOKEN}",
        "user-agent": SAID,
        "origin": f"https://{SAID}.example",
        "x-llm-api-key": LLM_KEY,
        "mcp-protocol-version": "2025-11-25",
    }
    known = {**FULL_ACCESS, "being_id": being}

    def event(
        body: bytes,
        *,
        target: str = f"/mcp/{being}",
        method: str = "POST",
        authorizer: Mapping[str, str] | None = known,
        others: Mapping[str, str] | None = None,
    ) -> Event:
        sent = Sent(method, target, {**headers, **(others or {})}, body)
        return http_api_event(sent, authorizer)

    for tool in being_server(nothing, patrols=nothing).tools():
        arguments = filled(tool["inputSchema"])
        yield event(rpc("tools/call", {"name": tool["name"], "arguments": arguments}))
        wrong = {SAID: SAID, "query": {SAID: SAID}}
        yield event(rpc("tools/call", {"name": tool["name"], "arguments": wrong}))
    yield event(rpc("tools/call", {"name": f"{SAID}_tool", "arguments": {}}))
    yield event(rpc("tools/call", {"name": "update_notes", "arguments": SAID}))
    yield event(rpc(f"{SAID}/method", {}))
    yield event(rpc("resources/read", {"uri": f"nacre://{SAID}"}))
    yield event(rpc("prompts/get", {"name": SAID, "arguments": {SAID: SAID}}))
    reference = {"type": "ref/prompt", "name": SAID}
    argument = {"name": SAID, "value": SAID}
    yield event(rpc("completion/complete", {"ref": reference, "argument": argument}))
    yield event(rpc("tools/list", {"cursor": SAID}))
    yield event(f"{{{SAID}".encode())
    yield event(b"\xff" + SAID.encode())
    yield event(rpc("ping"), target=f"/mcp/{SAID}")
    yield event(rpc("ping"), target=f"/mcp?being_id={SAID}")
    yield event(rpc("ping"), authorizer={"auth": "invalid"})
    yield event(rpc("ping"), authorizer=None)
    yield event(rpc("ping"), method="GET")
    yield event(rpc("ping"), others={"mcp-protocol-version": SAID})
    yield event(rpc("ping"), others={"content-type": SAID})
    read_only = {**known, "scopes": "mcp:read"}
    yield event(rpc("tools/call", {"name": "update_notes", "arguments": {}}), authorizer=read_only)


def authorizer_events(_being: str) -> Iterator[Event]:
    for token in (f"Bearer {TOKEN}", f"Basic {SAID}", SAID, ""):
        yield {"version": "2.0", "type": "REQUEST", "identitySource": [token]}
        yield {"headers": {"Authorization": token}, "rawPath": f"/mcp/{SAID}"}
    yield {SAID: SAID}


def evaluator_events(being: str) -> Iterator[Event]:
    call = {"method": "tools/call", "params": {"name": "read", "arguments": {"path": SAID}}}
    denied = {**call, "params": {"name": "get_context", "arguments": {"query": SAID}}}
    for body in (call, denied, {"calls": [call, denied]}, {"calls": SAID}, {"params": SAID}):
        sent = Sent("POST", "/policy/evaluate", {"user-agent": SAID}, json.dumps(body).encode())
        yield http_api_event(sent, {**FULL_ACCESS, "being_id": being})
        yield http_api_event(sent, {"auth": "invalid"})
        yield {**body, "being": being}
    yield http_api_event(
        Sent("POST", "/policy/evaluate", {}, f"{{{SAID}".encode()),
        {**FULL_ACCESS, "being_id": being},
    )
    yield {"being": [SAID]}


def worker_events(being: str) -> Iterator[Event]:
    patrol = {"version": 1, "kind": "patrol", "being_id": being, "refs": {}}
    repair = {"version": 1, "kind": "repair", "being_id": being, "refs": {}}
    task = {"version": 1, "kind": "task", "being_id": being, "refs": {"task": SAID, "round": "0"}}
    unknown = {"version": 1, "kind": SAID, "refs": {SAID: SAID}}
    broken = f"{{{SAID}"
    bodies = [json.dumps(each) for each in ({"kind": "sweep"}, patrol, repair, task, unknown)]
    record = json.loads((ROOT / "infra/events/sqs_fifo_patrol.json").read_text())["Records"][0]
    for number, body in enumerate([*bodies, broken]):
        group = {**record["attributes"], "MessageGroupId": f"{being}#{number}"}
        yield {"Records": [{**record, "body": body, "attributes": group}]}
    yield {SAID: SAID}


def portal_events(_being: str) -> Iterator[Event]:
    form = {"content-type": "application/x-www-form-urlencoded"}
    origin = "https://api.execute-api.eu-central-1.amazonaws.com"
    common = {"host": origin[8:], "user-agent": SAID, "cookie": f"session={SAID}"}
    for target in (
        *("/", "/health", "/sign-in", "/.well-known/oauth-authorization-server"),
        *(f"/{SAID}", f"/sign-in?then=/{SAID}", f"/authorize?client_id={SAID}&state={SAID}"),
        f"/.well-known/oauth-protected-resource/mcp/{SAID}",
    ):
        yield http_api_event(Sent("GET", target, common), None)
    fields = {"link": SAID, "owner": SAID, "password": SAID, "then": f"/{SAID}"}
    for target in ("/sign-in", f"/{SAID}", "/consent"):
        own = {**common, **form, "origin": origin}
        yield http_api_event(Sent("POST", target, own, urlencode(fields).encode()), None)
    grant = {"grant_type": "authorization_code", "code": SAID, "client_id": SAID}
    grants = [grant, {"grant_type": "refresh_token", "refresh_token": SAID, "client_id": SAID}]
    for grant in grants:
        sent = Sent("POST", "/token", {**common, **form}, urlencode(grant).encode())
        yield http_api_event(sent, None)
    registered = {"client_name": SAID, "redirect_uris": [f"https://{SAID}.example/back"]}
    for body in (json.dumps(registered), json.dumps({"redirect_uris": SAID}), f"{{{SAID}"):
        json_type = {"content-type": "application/json"}
        sent = Sent("POST", "/register", {**common, **json_type}, body.encode())
        yield http_api_event(sent, None)
    sent = Sent("POST", "/revoke", {**common, **form}, f"token={SAID}".encode())
    yield http_api_event(sent, None)
    foreign = Sent("GET", "/", {**common, "host": f"{SAID}.example"})
    yield http_api_event(foreign, None)


def nothing() -> Any:
    raise AssertionError("listing tools needs no memory")


EVENTS = {
    "McpHttpFunction": mcp_events,
    "TokenAuthorizerFunction": authorizer_events,
    "PatrolWorkerFunction": worker_events,
    "PolicyEvaluatorFunction": evaluator_events,
    "PortalFunction": portal_events,
}

# What is written.


@dataclass(frozen=True, slots=True)
class Written:
    """The lines of one handler, and what came back."""

    lines: list[str]
    answers: list[Any]


def run(
    name: str, world: World, *, level: str = "INFO", most: int | None = None, **variables: str
) -> Written:
    """Start a function in a separate interpreter, send it its events, and read its log."""
    events = list(EVENTS[name](world.being))[:most]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("logged.py")), str(task(name)), level],
        input=json.dumps(events),
        env={
            "PATH": os.defpath,
            "PYTHONPATH": str(ROOT / "shared"),
            **environment(name),
            **world.variables,
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) == len(events)
    return Written(done.stderr.splitlines(), answers)


def test_every_handler_is_tried() -> None:
    assert EVENTS.keys() == FUNCTIONS


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_log_holds_objects_of_known_fields_and_nothing_that_was_said(
    world: World, name: str
) -> None:
    check(run(name, world))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_neither_does_it_when_no_service_answers(world: World, name: str) -> None:
    # Each call is repeated for seconds before it is given up.
    check(run(name, world, most=4, AWS_ENDPOINT_URL="http://127.0.0.1:9"))


def check(written: Written) -> None:
    """Assert that everything that was written may be written."""
    for text in written.lines:
        line = json.loads(text)
        assert line.keys() <= FIELDS | METRICS, text
        assert {"level", "event"} <= line.keys(), text
    log = "\n".join(written.lines)
    assert SAID not in log, next(line for line in written.lines if SAID in line)
    assert base64.b64encode(SAID.encode())[:7].decode() not in log
    for secret in (CREDENTIALS.secret_access_key, CREDENTIALS.session_token):
        assert secret not in log
    # The runtime writes what a handler raises, with its message.
    assert SAID not in json.dumps([each for each in written.answers if "raised" in each])


@pytest.mark.parametrize("name", ["McpHttpFunction", "PatrolWorkerFunction"])
def test_libraries_are_quiet_whatever_the_runtime_lets_them_say(world: World, name: str) -> None:
    written = run(name, world, level="DEBUG", NACRE_LOG_LEVEL="DEBUG")

    assert [line for line in written.lines if not line.startswith("{")] == []
    assert SAID not in "\n".join(written.lines)


def test_calls_and_denials_and_failures_of_every_handler_are_counted(world: World) -> None:
    counted = {
        metric["Name"]
        for name in ("McpHttpFunction", "PatrolWorkerFunction", "PolicyEvaluatorFunction")
        for text in run(name, world).lines
        if "_aws" in (line := json.loads(text))
        for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]
    }

    assert counted >= {
        *("Latency", "Refusals", "PolicyDenials", "JobFailures"),
        *("PatrolLag", "PatrolBacklog", "IndexDrift"),
    }
