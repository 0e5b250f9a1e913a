"""INIT of the functions, beside the least handler there can be and the usual stack.

Lambda's runtime client starts each from the built layers, with as much processor as Lambda
gives for the memory: by a control group where the machine allows one, else the processor time
is scaled.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.benchmarks.quota import cpu_quota, share
from tests.benchmarks.table import show
from tests.functions.runtime_api import Function
from tests.infra.declared import ROOT
from tests.scaffolding.aws_stack import REGION, aws_stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, dynamodb_over_http
from tests.scaffolding.lambda_events import BEING, FULL_ACCESS, Event, Sent, http_api_event
from tests.scaffolding.lambda_functions import deployed, runtime_python
from tests.scaffolding.lambda_layers import layer

pytestmark = pytest.mark.benchmark

ROUNDS = 7
MEMORIES = (512, 1024, 1769)
TRIVIAL, AUTHORIZER, EVALUATOR = "trivial handler", "token_authorizer", "policy_evaluator"
MCP, WORKER, PORTAL, PEER = "mcp_http", "patrol_worker", "portal", "SDK + Mangum"

MCP_INIT_MS = 300.0  # at 1024 MB
MCP_TO_PEER = 0.45
AUTHORIZER_TO_TRIVIAL = 1.7
EVALUATOR_TO_TRIVIAL = 1.3

CLOCK = {"name": "get_current_time", "arguments": {}}
INTRODUCTION = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
WELL_KNOWN = "/.well-known/oauth-authorization-server"

Starter = Callable[[tuple[str, ...]], Function]


@pytest.fixture(scope="module")
def starters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Starter]:
    """Return how each handler is started, behind a wrapper."""
    folder = tmp_path_factory.mktemp("trivial")
    (folder / "handler.py").write_text("def handle(event, context):\n    return {}\n")
    python = runtime_python()
    # The same wheels, trimmed and compiled in the same way as ours.
    usual = [layer("libs").python, layer("web").python]

    def function(name: str) -> Starter:
        return lambda wrapper: deployed(name, wrapper=wrapper)

    def other(task: Path, layers: list[Path]) -> Starter:
        return lambda wrapper: Function(python=python, task=task, layers=layers, wrapper=wrapper)

    return {
        TRIVIAL: other(folder, []),
        AUTHORIZER: function("TokenAuthorizerFunction"),
        EVALUATOR: function("PolicyEvaluatorFunction"),
        MCP: function("McpHttpFunction"),
        WORKER: function("PatrolWorkerFunction"),
        PORTAL: function("PortalFunction"),
        PEER: other(Path(__file__).parent / "peer", usual),
    }


def post(
    method: str, params: dict[str, Any] | None = None, authorizer: dict[str, str] = FULL_ACCESS
) -> Event:
    """Return a message to the MCP function as API Gateway hands it over."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    headers["mcp-protocol-version"] = "2025-11-25"
    sent = Sent("POST", f"/mcp/{BEING}", headers, json.dumps(message).encode())
    return http_api_event(sent, authorizer)


def page(path: str) -> Event:
    """Return a request to the portal."""
    host = "api.execute-api.eu-central-1.amazonaws.com"
    return http_api_event(Sent("GET", path, {"host": host, "accept": "text/html"}), None)


def call_of_the_peer() -> Event:
    """Return an event that calls the peer's tool."""
    event: Event = json.loads((ROOT / "infra/events/http_api_mcp.json").read_text())
    params = {"name": "add", "arguments": {"a": 2, "b": 3}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    event["requestContext"]["http"]["path"] = "/mcp"
    return event | {"rawPath": "/mcp", "body": json.dumps(message)}


def measure(
    starters: dict[str, Starter], memory: int
) -> tuple[dict[str, float], dict[str, int], str]:
    """Return the median INIT in milliseconds, the peak memory, and how it was measured."""
    walls: dict[str, list[float]] = {name: [] for name in starters}
    peaks: dict[str, int] = {}
    with cpu_quota(memory) as wrapper:
        for number in range(ROUNDS + 1):  # the first round warms the disk cache
            for name, starter in starters.items():
                with starter(wrapper or ()) as function:
                    taken = function.start.wall_ms
                    if wrapper is None:
                        taken = function.start.cpu_ms / share(memory)
                    peaks[name] = function.start.peak_kb
                if number:
                    walls[name].append(taken)
    how = "processor time scaled" if wrapper is None else "under a processor quota"
    return {name: median(values) for name, values in walls.items()}, peaks, how


def test_functions_start_fast(starters: dict[str, Starter]) -> None:
    inits: dict[int, dict[str, float]] = {}
    for memory in MEMORIES:
        inits[memory], peaks, how = measure(starters, memory)

    rows = [
        [
            name,
            *(f"{inits[memory][name]:.0f}" for memory in MEMORIES),
            f"{inits[1024][name] / inits[1024][TRIVIAL]:.2f}x",
            f"{inits[1024][name] / inits[1024][PEER]:.2f}x",
            f"{peaks[name] / 1024:.0f}",
        ]
        for name in starters
    ]
    header = ["handler", *(f"{memory} MB" for memory in MEMORIES)]
    header += ["to the trivial one", "to SDK + Mangum", "peak MB"]
    show(f"INIT in ms, median of {ROUNDS} ({how})", header, rows)

    assert inits[1024][MCP] <= MCP_INIT_MS
    assert inits[1024][MCP] <= MCP_TO_PEER * inits[1024][PEER]
    assert inits[512][AUTHORIZER] <= AUTHORIZER_TO_TRIVIAL * inits[512][TRIVIAL]
    assert inits[512][EVALUATOR] <= EVALUATOR_TO_TRIVIAL * inits[512][TRIVIAL]


@pytest.fixture
def table() -> Iterator[dict[str, str]]:
    """Give functions a table, in which the policy of the first call is looked for."""
    with aws_stack() as stack, dynamodb_over_http(stack) as front:
        yield {
            "AWS_ENDPOINT_URL": front.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": CREDENTIALS.access_key_id,
            "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_access_key,
            "AWS_SESSION_TOKEN": CREDENTIALS.session_token,
            "NACRE_DATA_TABLE": stack.ids["DataTable"],
        }


FIRST = {
    "a question without a token": (MCP, post("ping", authorizer={"auth": "invalid"}), 401),
    "`initialize`": (MCP, post("initialize", INTRODUCTION), 200),
    "`tools/list`": (MCP, post("tools/list"), 200),
    "`tools/call` of `get_current_time`": (MCP, post("tools/call", CLOCK), 200),
    "where the authorization server is": (PORTAL, page(WELL_KNOWN), 200),
    "the page to sign in": (PORTAL, page("/sign-in"), 200),
    "the owner's pages": (PORTAL, page("/"), 303),
    "a call of a tool": (PEER, call_of_the_peer(), 200),
}


def test_the_first_answer_after_a_cold_start_is_soon_there(
    starters: dict[str, Starter], table: dict[str, str]
) -> None:
    given = {"McpHttpFunction": table, "PortalFunction": {}}
    names = {MCP: "McpHttpFunction", PORTAL: "PortalFunction"}
    starts: dict[str, list[float]] = {kind: [] for kind in FIRST}
    answers: dict[str, list[float]] = {kind: [] for kind in FIRST}
    with cpu_quota(1024) as wrapper:
        if wrapper is None:
            pytest.skip("needs a processor quota: the call itself is not measured otherwise")
        for number in range(ROUNDS + 1):  # the first round warms the disk cache
            for kind, (name, event, status) in FIRST.items():
                own = names.get(name)
                started = (
                    deployed(own, variables=given[own], wrapper=wrapper)
                    if own
                    else starters[name](wrapper)
                )
                with started as function:
                    began = time.perf_counter()
                    answer = function.invoke(event)
                    taken = (time.perf_counter() - began) * 1000
                assert answer["statusCode"] == status, answer
                assert 'isError":true' not in answer["body"].replace(" ", ""), answer
                if number:
                    starts[kind].append(function.start.wall_ms)
                    answers[kind].append(taken)
    totals = {
        kind: median(map(sum, zip(starts[kind], answers[kind], strict=True))) for kind in FIRST
    }

    rows = [
        [
            FIRST[kind][0],
            kind,
            f"{median(starts[kind]):.0f}",
            f"{median(answers[kind]):.0f}",
            f"{total:.0f}",
        ]
        for kind, total in totals.items()
    ]
    header = ["function", "first asked for", "INIT", "answer", "both"]
    show(f"INIT and the first answer in ms, 1024 MB, median of {ROUNDS}", header, rows)
    peer = totals["a call of a tool"]
    assert totals["`tools/call` of `get_current_time`"] <= MCP_TO_PEER * peer
    assert totals["where the authorization server is"] <= peer
