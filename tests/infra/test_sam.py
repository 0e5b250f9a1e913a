"""SAM CLI's own view of the template, as far as it goes without containers."""

import json
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from random import SystemRandom
from typing import Any

import pytest

from infra.tools import programs
from nacre.access.tokens.store import TokenStore
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.core.clock import system_clock
from nacre.protocol.principal import FULL
from tests.infra.declared import PATH, ROOT
from tests.infra.test_endpoint import ROUTES
from tests.scaffolding.aws_stack import REGION, Stack, aws_stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, dynamodb_over_http
from tests.scaffolding.lambda_functions import description, runtime_python

pytestmark = pytest.mark.slow

BEING = "0b5ad6a5-7a4f-4c6e-9a41-0f6f8b7d3c11"
OTHER = "11111111-1111-4111-8111-111111111111"


def ask(functions: dict[str, Any], *requests: dict[str, Any]) -> dict[str, Any]:
    """Return the routes that SAM finds, and what it answers to the requests."""
    asked = {
        "template": str(PATH),
        "python": str(runtime_python()),
        "functions": functions,
        "requests": requests,
    }
    done = subprocess.run(
        [str(programs("sam") / "python"), "-m", "tests.infra.sam_local"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with aws_stack() as stack:
        yield stack


def test_sam_finds_the_template_valid() -> None:
    environment = {"PATH": "/usr/bin:/bin", "SAM_CLI_TELEMETRY": "0", "HOME": str(ROOT / ".tools")}
    command = [str(programs("sam") / "sam"), "validate", "--lint", "--region", "us-east-1"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "is a valid SAM Template" in done.stdout


def test_sam_resolves_every_route_and_authorizer() -> None:
    found = {
        f"{method} {route['path']}": (route["function"], route["authorizer"])
        for route in ask({})["routes"]
        for method in route["methods"]
        if method != "OPTIONS"  # which SAM adds for its own cross-origin answers
    }
    expected = {
        route: (function, "TokenAuthorizerFunction" if authorizer else None)
        for route, (function, authorizer) in ROUTES.items()
    }

    assert found == expected


def test_requests_travel_through_sams_gateway_to_the_real_handlers_and_back(stack: Stack) -> None:
    tokens = TokenStore(
        DynamoTable(stack.dynamodb, stack.ids["TokensTable"]),
        clock=system_clock,
        rng=SystemRandom(),
    )
    issued = tokens.issue(
        "brt", being_id=BEING, owner="owner", scopes=FULL, lifetime=timedelta(days=1)
    )
    good = {"authorization": f"Bearer {issued.token}", "content-type": "application/json"}
    bad = {**good, "authorization": "Bearer brt_of_nobody"}
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    call = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "get_current_time", "arguments": {"timezone": "Asia/Tokyo"}},
        }
    )
    sent: list[tuple[str, dict[str, Any], int]] = [
        # what it is, the request, and the status of its answer
        ("good token", {"path": f"/mcp/{BEING}", "headers": good, "data": ping}, 200),
        ("tool", {"path": f"/mcp/{BEING}", "headers": good, "data": call}, 200),
        ("being by query", {"path": f"/mcp?being_id={BEING}", "headers": good, "data": ping}, 200),
        ("other being", {"path": f"/mcp/{OTHER}", "headers": good, "data": ping}, 403),
        ("bad token", {"path": f"/mcp/{BEING}", "headers": bad, "data": ping}, 401),
        ("no token", {"path": f"/mcp/{BEING}", "data": ping}, 401),
        ("GET", {"method": "GET", "path": f"/mcp/{BEING}", "headers": good}, 405),
        ("DELETE", {"method": "DELETE", "path": f"/mcp/{BEING}", "headers": good}, 405),
        ("policy", {"path": "/policy/evaluate", "headers": good, "data": call}, 200),
        ("policy, no call", {"path": "/policy/evaluate", "headers": good, "data": "{}"}, 400),
        ("policy, bad token", {"path": "/policy/evaluate", "headers": bad, "data": "{}"}, 401),
        ("home", {"method": "GET", "path": "/"}, 303),  # to the sign-in page
        ("health", {"method": "GET", "path": "/healthz"}, 200),
        ("well-known", {"method": "GET", "path": "/.well-known/oauth-protected-resource"}, 200),
        ("sign in", {"method": "GET", "path": "/sign-in"}, 200),
        ("register", {"path": "/register", "data": "{}"}, 400),
        ("authorize", {"method": "GET", "path": "/authorize?client_id=client_none"}, 400),
        ("elsewhere", {"method": "GET", "path": f"/mcp/{BEING}/more"}, 404),
    ]
    with dynamodb_over_http(stack) as front:
        own = {
            "AWS_ENDPOINT_URL": front.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": CREDENTIALS.access_key_id,
            "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_access_key,
            "AWS_SESSION_TOKEN": CREDENTIALS.session_token,
        }
        data = {**own, "NACRE_DATA_TABLE": stack.ids["DataTable"]}
        functions = {
            name: description(name, **data)
            for name in ("McpHttpFunction", "PolicyEvaluatorFunction")
        }
        functions["PortalFunction"] = description(
            "PortalFunction", **data, NACRE_TOKENS_TABLE=stack.ids["TokensTable"]
        )
        functions["TokenAuthorizerFunction"] = description(
            "TokenAuthorizerFunction", **own, NACRE_TOKENS_TABLE=stack.ids["TokensTable"]
        )
        answers = ask(functions, *({"method": "POST", **request} for _, request, _ in sent))
    statuses = [answer["status"] for answer in answers["answers"]]

    assert dict(zip((name for name, _, _ in sent), statuses, strict=True)) == {
        name: status for name, _, status in sent
    }
    tool = json.loads(answers["answers"][1]["body"])
    assert json.loads(tool["result"]["content"][0]["text"])["timezone"] == "Asia/Tokyo"
