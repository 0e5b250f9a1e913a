"""The address of a caller behind the front of a stack, and the front's own challenge."""

import json
import shutil
import subprocess
from typing import Any

import pytest

from nacre.faces.aws_lambda.portal import behind_front
from tests.infra.declared import resources
from tests.scaffolding.lambda_events import LambdaContext, Sent, http_api_event

SECRET = "s" * 48


def address(headers: dict[str, str]) -> str:
    """Return the address that the portal sees."""
    seen: list[str] = []

    def handle(event: dict[str, Any], _context: Any) -> dict[str, Any]:
        seen.append(event["requestContext"]["http"]["sourceIp"])
        return {}

    sent = Sent(target="/sign-in", headers=headers, body=b"")
    event = http_api_event(sent, None)
    behind_front(handle, SECRET)(event, LambdaContext())
    assert event["requestContext"]["http"]["sourceIp"] == "203.0.113.1"  # unchanged
    return seen[0]


def test_the_front_names_the_caller() -> None:
    named = {"x-nacre-viewer": "198.51.100.7", "x-nacre-front": SECRET}

    assert address(named) == "198.51.100.7"


@pytest.mark.security
@pytest.mark.parametrize("secret", ["", "s", "S" * 48, "s" * 49, "é"])
def test_whoever_calls_the_api_directly_is_not_believed(secret: str) -> None:
    named = {"x-nacre-viewer": "198.51.100.7", "x-nacre-front": secret}

    assert address(named) == "203.0.113.1"
    assert address({"x-nacre-viewer": "198.51.100.7"}) == "203.0.113.1"


def challenged(uri: str, method: str = "POST", **headers: str) -> Any:
    """Return the front's answer to a request, or the request that it passes on."""
    [function] = resources("AWS::CloudFront::Function").values()
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on this machine")
    named = {name: {"value": value} for name, value in {"host": "n.example", **headers}.items()}
    request = {"uri": uri, "method": method, "headers": named}
    event = {"request": request, "viewer": {"ip": "198.51.100.7"}}
    script = (
        f"{function['FunctionCode']}\nconsole.log(JSON.stringify(handler({json.dumps(event)})))"
    )
    done = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_a_request_without_a_token_is_challenged_with_the_metadata_of_its_url() -> None:
    answer = challenged("/mcp/0b5")

    assert answer["statusCode"] == 401
    assert answer["headers"]["www-authenticate"]["value"] == (
        'Bearer resource_metadata="https://n.example/.well-known/oauth-protected-resource/mcp/0b5"'
    )


@pytest.mark.security
def test_a_challenge_repeats_nothing_that_a_stranger_made_up() -> None:
    answer = challenged('/mcp/x",y="z')

    assert answer["headers"]["www-authenticate"]["value"].endswith('/oauth-protected-resource"')


@pytest.mark.parametrize(
    ("uri", "method", "headers"),
    [
        ("/mcp", "POST", {"authorization": "Bearer x"}),
        ("/mcp", "OPTIONS", {}),
        ("/", "GET", {}),
        ("/.well-known/oauth-protected-resource/mcp", "GET", {}),
        ("/mcpx", "POST", {}),
    ],
)
def test_other_requests_pass_with_their_callers_address(
    uri: str, method: str, headers: dict[str, str]
) -> None:
    passed = challenged(uri, method, **headers, **{"x-nacre-viewer": "1.2.3.4"})

    assert (passed["uri"], passed["method"]) == (uri, method)
    assert passed["headers"]["x-nacre-viewer"]["value"] == "198.51.100.7"  # whatever it said
