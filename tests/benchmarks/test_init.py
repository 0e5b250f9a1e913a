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

from tests.aws_stack import REGION, aws_stack
from tests.benchmarks.quota import cpu_quota, share
from tests.benchmarks.table import show
from tests.dynamodb_http import CREDENTIALS, dynamodb_over_http
from tests.functions.runtime_api import Function
from tests.infra.declared import ROOT
from tests.lambda_functions import deployed, runtime_python
from tests.lambda_layers import layer

pytestmark = pytest.mark.benchmark

ROUNDS = 7
MEMORIES = (512, 1024, 1769)
TRIVIAL, AUTHORIZER, EVALUATOR = "trivial handler", "token_authorizer", "policy_evaluator"
MCP, WORKER, PORTAL, PEER = "mcp_http", "patrol_worker", "portal", "SDK + Mangum"

MCP_INIT_MS = 300.0  # at 1024 MB
MCP_TO_PEER = 0.45
AUTHORIZER_TO_TRIVIAL = 1.7
EVALUATOR_TO_TRIVIAL = 1.3

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


def call(name: str) -> dict[str, Any]:
    """Return an event that calls a tool of a handler that has one."""
    event: dict[str, Any] = json.loads((ROOT / "infra/events/http_api_mcp.json").read_text())
    tool = {
        MCP: {"name": "get_current_time", "arguments": {}},
        PEER: {"name": "add", "arguments": {"a": 2, "b": 3}},
    }[name]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
    event["requestContext"]["http"]["path"] = "/mcp"
    path = f"/mcp/{event['pathParameters']['beingId']}" if name == MCP else "/mcp"
    return event | {"rawPath": path, "body": json.dumps(message)}


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


def test_the_first_call_after_a_cold_start_is_not_where_the_time_went(
    starters: dict[str, Starter], table: dict[str, str]
) -> None:
    starts = {
        MCP: lambda wrapper: deployed("McpHttpFunction", variables=table, wrapper=wrapper),
        PEER: starters[PEER],
    }
    totals: dict[str, list[float]] = {MCP: [], PEER: []}
    with cpu_quota(1024) as wrapper:
        if wrapper is None:
            pytest.skip("needs a processor quota: the call itself is not measured otherwise")
        for _round in range(ROUNDS):
            for name, samples in totals.items():
                with starts[name](wrapper) as function:
                    began = time.perf_counter()
                    answer = function.invoke(call(name))
                    taken = (time.perf_counter() - began) * 1000
                    samples.append(function.start.wall_ms + taken)
                assert answer["statusCode"] == 200, answer
                assert 'isError":true' not in answer["body"].replace(" ", ""), answer
    ours, theirs = median(totals[MCP]), median(totals[PEER])

    rows = [[name, f"{median(values):.0f}"] for name, values in totals.items()]
    show("INIT and the first tools/call in ms, 1024 MB", ["handler", "ms"], rows)
    assert ours <= MCP_TO_PEER * theirs
