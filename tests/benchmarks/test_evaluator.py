"""The policy evaluator: a policy of a thousand rules loaded, warm calls, and the first one.

Beside the least handler there can be, in Lambda's runtime client, in the same run.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.clock import system_clock
from nacre.faces.evaluator.evaluator_function import policy_handler
from nacre.firewall.policies.compiled import to_json
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import PolicyInForce, packed, unpacked
from nacre.firewall.policies.version_store import PolicyVersions
from tests.benchmarks.quota import cpu_quota
from tests.benchmarks.table import show
from tests.functions.runtime_api import Function
from tests.infra.declared import ROOT
from tests.scaffolding.aws_stack import REGION, aws_stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, dynamodb_over_http
from tests.scaffolding.lambda_functions import deployed, runtime_python

pytestmark = pytest.mark.benchmark

LOAD_MS = 50.0  # a thousand rules
WARM_MS = 1.0
ROUNDS = 300
COLD_ROUNDS = 5
RULES = "".join(
    f'[[rule]]\naction = "allow"\ntool = "tool_{number}"\nargs.path = "/srv/{number}/**"\n'
    for number in range(1000)
)


def event(tool: str, path: str) -> dict[str, Any]:
    """Return a call as API Gateway sends it."""
    found: dict[str, Any] = json.loads((ROOT / "infra/events/http_api_policy.json").read_text())
    call = {"name": tool, "arguments": {"path": path}}
    message = {"method": "tools/call", "params": call, "server": "files"}
    return found | {"body": json.dumps(message)}


LAST = event("tool_999", "/srv/999/a")


def test_a_thousand_rules_load_and_decide_in_time() -> None:
    stored = {
        "compiled": packed(to_json(load_policy(RULES, source="p"))),
        "schema": 1,
        "version": 1,
    }
    loads, warm = [], []
    for _ in range(15):
        began = time.perf_counter()
        policy = unpacked(stored)
        loads.append((time.perf_counter() - began) * 1000)
    force = PolicyInForce(policy, "global", 1)

    class Policies:
        def of(self, being_id: str | None) -> PolicyInForce:
            return force

    handle = policy_handler(lambda _: Policies(), "ERROR")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        answer = handle(LAST, None)
        warm.append((time.perf_counter() - began) * 1000)
    assert json.loads(answer["body"])["decision"] == "allow"

    rows = [["load", f"{median(loads):.1f}"], ["a warm call", f"{median(warm):.3f}"]]
    show("the evaluator with 1000 rules, in process", ["what", "ms"], rows)
    assert median(loads) <= LOAD_MS
    assert median(warm) <= WARM_MS


@pytest.fixture
def variables() -> Iterator[dict[str, str]]:
    with aws_stack() as stack, dynamodb_over_http(stack) as front:
        table = stack.ids["DataTable"]
        documents = PolicyVersions(DynamoTable(stack.dynamodb, table), clock=system_clock)
        documents.push("global", RULES, source="p", based_on=0, by="ann")
        yield {
            "AWS_ENDPOINT_URL": front.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": CREDENTIALS.access_key_id,
            "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_access_key,
            "AWS_SESSION_TOKEN": CREDENTIALS.session_token,
            "NACRE_DATA_TABLE": table,
            "NACRE_LOG_LEVEL": "ERROR",
        }


def test_warm_calls_in_the_runtime_and_what_the_first_one_costs(
    variables: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "handler.py").write_text("def handle(event, context):\n    return {}\n")
    evaluator: list[float] = []
    trivial: list[float] = []
    first: list[float] = []
    init: list[float] = []
    with cpu_quota(512) as wrapper:
        least = Function(python=runtime_python(), task=tmp_path, wrapper=wrapper or ())
        whole = deployed("PolicyEvaluatorFunction", variables=variables, wrapper=wrapper or ())
        with least, whole:
            for function, samples in ((least, trivial), (whole, evaluator)):
                function.invoke(LAST)
                for _ in range(40):  # less than a policy is kept without a look
                    began = time.perf_counter()
                    function.invoke(LAST)
                    samples.append((time.perf_counter() - began) * 1000)
        for _ in range(COLD_ROUNDS):
            start = deployed("PolicyEvaluatorFunction", variables=variables, wrapper=wrapper or ())
            with start:
                init.append(start.start.wall_ms)
                began = time.perf_counter()
                answer = start.invoke(LAST)
                first.append((time.perf_counter() - began) * 1000)
            assert json.loads(answer["body"])["decision"] == "allow"

    rows = [
        ["a warm call", f"{median(evaluator):.2f}", f"{median(trivial):.2f}"],
        ["INIT", f"{median(init):.0f}", ""],
        ["the first call, which reads the policy", f"{median(first):.0f}", ""],
    ]
    show("the evaluator with 1000 rules at 512 MB, ms", ["what", "evaluator", "trivial"], rows)
    assert median(evaluator) - median(trivial) <= WARM_MS
