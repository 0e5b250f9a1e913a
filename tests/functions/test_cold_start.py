"""The modules that each function may load at its start and for its first answers."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nacre.core.clock import system_clock
from nacre.firewall.audit.log import verify_chain
from nacre.firewall.audit.stored_log import ItemRecords
from tests.functions.conftest import Store
from tests.infra.declared import ROOT
from tests.scaffolding.lambda_events import BEING, Sent, http_api_event
from tests.scaffolding.lambda_functions import environment, task

SDK = {"boto3", "botocore"}


@dataclass(frozen=True, slots=True)
class Start:
    """The loaded modules: at the start, and after each event together with its answer."""

    at_start: set[str]
    own: set[str]
    own_after: set[str]
    after: list[set[str]]
    answers: list[Any]


def start(name: str, *events: dict[str, Any], variables: Mapping[str, str] | None = None) -> Start:
    """Start a function in a separate interpreter, and send it events."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("loaded.py")), str(task(name))],
        input=json.dumps(events),
        env={
            "PATH": os.defpath,
            "PYTHONPATH": str(ROOT / "shared"),
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            **environment(name),
            **(variables or {}),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    first, *steps = found["steps"]
    return Start(
        at_start=set(first["loaded"]),
        own=set(found["own"]),
        own_after=set(found["own_after"]),
        after=[set(step["loaded"]) for step in steps],
        answers=[step["answer"] for step in steps],
    )


def post(message: dict[str, Any], *, version: str | None = None, **others: Any) -> dict[str, Any]:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    if version:
        headers["mcp-protocol-version"] = version
    sent = Sent(
        "POST", f"/mcp/{BEING}", headers | others.pop("headers", {}), json.dumps(message).encode()
    )
    return http_api_event(sent, **others)


def encoded(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode()


def request(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}


def modern(method: str) -> dict[str, Any]:
    """Return a request of the stateless era, as an event."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return post(
        request(method, {"_meta": meta}), version="2026-07-28", headers={"mcp-method": method}
    )


INITIALIZE = request(
    "initialize",
    {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
)
LISTS = ("tools", "resources", "prompts")
CALL = request("tools/call", {"name": "get_current_time", "arguments": {"timezone": "UTC"}})


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (post(INITIALIZE), 200),
        (modern("server/discover"), 200),
        (modern("tools/list"), 200),
        (post(request("tools/list"), version="2025-11-25"), 200),
        (post(request("ping"), version="2025-11-25"), 200),
        (post(request("ping"), authorizer={"auth": "invalid"}), 401),
        (http_api_event(Sent("GET", f"/mcp/{BEING}")), 405),
        (http_api_event(Sent("DELETE", f"/mcp/{BEING}")), 405),
    ],
    ids=["initialize", "discover", "list", "list-2025", "ping", "401", "GET", "DELETE"],
)
def test_what_needs_no_service_loads_the_standard_library_alone(
    event: dict[str, Any], status: int
) -> None:
    started = start("McpHttpFunction", event)

    assert started.at_start == set()
    assert started.answers[0]["statusCode"] == status
    assert started.after == [set()]


def test_a_call_loads_the_schema_library_and_no_more(store: Store) -> None:
    event = post(CALL, version="2025-11-25")
    started = start("McpHttpFunction", event, event, variables=store.variables)

    assert (
        json.loads(started.answers[0]["body"])["result"]["structuredContent"]["timezone"] == "UTC"
    )
    assert started.after[0] <= {"jsonschema_rs", "tzdata"}
    # The policy is read, and the call is recorded, without the SDK.
    unneeded = (
        "nacre.firewall.policies.loader",
        "nacre.firewall.enforce.guard",
        "nacre.adapters.aws.dynamodb.table",
    )
    assert {name for name in started.own if name.startswith("nacre.firewall")} == {
        "nacre.firewall",
        "nacre.firewall.entry",
        "nacre.firewall.entry.guarded_surface",
    }
    assert not [name for name in started.own_after if name.startswith(unneeded)]
    (found,) = [
        verify_chain(chain)
        for chain in ItemRecords(store.table, BEING, clock=system_clock).chains()
    ]
    assert (found.records, found.problem) == (2, None)


def test_a_call_that_the_policy_asks_about_is_denied_where_nobody_can_be_asked(
    policies: dict[str, str],
) -> None:
    started = start("McpHttpFunction", post(CALL, version="2025-11-25"), variables=policies)
    result = json.loads(started.answers[0]["body"])["result"]

    assert result["isError"] is True
    assert result["_meta"]["nacre/policy"]["rule"] == 1
    assert "nacre approvals" in result["content"][0]["text"]


def test_without_a_policy_or_an_audit_no_call_is_made() -> None:
    nowhere = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    started = start("McpHttpFunction", post(CALL, version="2025-11-25"), variables=nowhere)
    result = json.loads(started.answers[0]["body"])["result"]

    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Blocked by policy (no policy can be read")


def test_listing_what_there_is_loads_nothing_of_the_memory() -> None:
    started = start(
        "McpHttpFunction",
        *(post(request(f"{each}/list"), version="2025-11-25") for each in LISTS),
    )

    assert [answer["statusCode"] for answer in started.answers] == [200] * len(LISTS)
    memory = ("nacre.being.memory", "nacre.text")
    assert [name for name in started.own_after if name.startswith(memory)] == []


def test_the_authorizer_loads_the_standard_library_alone() -> None:
    event = json.loads((ROOT / "infra" / "events" / "http_api_authorizer.json").read_text())
    started = start("TokenAuthorizerFunction", event)

    assert started.answers == [{"isAuthorized": True, "context": {"auth": "invalid"}}]
    assert started.after == [set()]
    assert not [
        name for name in started.own if name.startswith(("nacre.sdk", "nacre.being", "nacre.text"))
    ]


def test_the_evaluator_loads_the_standard_library_alone(policies: dict[str, str]) -> None:
    event = json.loads((ROOT / "infra" / "events" / "http_api_policy.json").read_text())
    started = start("PolicyEvaluatorFunction", event, variables=policies)

    assert json.loads(started.answers[0]["body"])["decision"] == "prompt"
    assert (started.at_start, started.after) == (set(), [set()])
    # Neither the network before the first call, nor what writes policies at any time.
    assert "nacre.adapters.aws.dynamodb.get" in started.own_after - started.own
    unwanted = ("nacre.sdk", "nacre.being", "nacre.text", "nacre.firewall.policies.loader")
    assert not [name for name in started.own_after if name.startswith(unwanted)]


def test_the_worker_loads_the_sdk_at_the_first_message() -> None:
    event = json.loads((ROOT / "infra" / "events" / "sqs_fifo_patrol.json").read_text())
    event["Records"][0]["body"] = '{"kind": "of another version"}'  # what needs no service
    started = start(
        "PatrolWorkerFunction", event, variables={"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    )

    failed = [{"itemIdentifier": event["Records"][0]["messageId"]}]
    assert started.at_start <= {
        "aws_lambda_powertools", "botocore", "jmespath", "typing_extensions"
    }  # fmt: skip
    assert started.answers == [{"batchItemFailures": failed}]
    assert started.after[0] >= SDK
    assert not started.after[0] & {"fastapi", "mcp", "numpy", "openai", "pydantic", "qdrant_client"}


def test_the_portal_loads_what_is_web_and_neither_sdk_nor_models() -> None:
    event = json.loads((ROOT / "infra" / "events" / "http_api_portal.json").read_text())
    started = start("PortalFunction", event)

    assert started.answers[0]["statusCode"] == 200
    assert {"fastapi", "mangum"} <= started.at_start
    assert not started.after[0] & (SDK | {"mcp", "numpy", "openai", "qdrant_client"})


def test_discovery_and_the_sign_in_page_need_no_service() -> None:
    host = {"host": "api.execute-api.eu-central-1.amazonaws.com"}
    paths = (
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/sign-in",
        "/static/nacre.css",
    )
    events = [http_api_event(Sent("GET", path, host), None) for path in paths]
    started = start("PortalFunction", *events)

    assert [answer["statusCode"] for answer in started.answers] == [200] * 4
    assert not set().union(*started.after) & (SDK | {"cryptography", "mcp", "numpy"})
    pages = (
        "nacre.console.pages",
        "nacre.being.memory",
        "nacre.being.patrol",
        "nacre.firewall",
    )
    assert not [name for name in started.own_after if name.startswith(pages)]


def test_the_owners_pages_are_loaded_with_the_first_of_them() -> None:
    host = {"host": "api.execute-api.eu-central-1.amazonaws.com"}
    events = [
        http_api_event(Sent("GET", path, host | {"accept": "text/html"}), None)
        for path in ("/", f"/beings/{BEING}/overview", "/nothing")
    ]
    started = start("PortalFunction", *events)

    assert [answer["statusCode"] for answer in started.answers] == [303, 303, 404]
    assert "nacre.console.pages" in started.own_after - started.own


@pytest.mark.parametrize("method", ["ping", "initialize"])
def test_what_asks_nothing_of_a_table_waits_for_no_network(method: str) -> None:
    message = INITIALIZE if method == "initialize" else request(method)
    started = start("McpHttpFunction", post(message, version="2025-11-25"))

    assert "nacre.adapters.aws.dynamodb.get" not in started.own_after


@pytest.mark.parametrize(
    "name",
    [
        "McpHttpFunction",
        "TokenAuthorizerFunction",
        "PatrolWorkerFunction",
        "PolicyEvaluatorFunction",
    ],
)
def test_metrics_cost_no_start_anything(name: str) -> None:
    started = start(name)

    assert "nacre.core.metrics" not in started.own


def test_metrics_load_with_the_first_line_that_counts() -> None:
    started = start("McpHttpFunction", post(request("ping"), version="2025-11-25"))

    assert "nacre.core.metrics" in started.own_after
