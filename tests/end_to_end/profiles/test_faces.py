"""Tokens of profiles at every face: HTTP on the laptop, Lambda, the evaluator, stdio."""

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from nacre.access.tokens.token_check import admission
from nacre.access.tokens.token_format import digest
from nacre.core.logs import Log
from nacre.core.token_prefixes import API, OAUTH_ACCESS
from nacre.faces.aws_lambda.mcp_http import mcp_handler
from nacre.faces.aws_lambda.token_authorizer import authorizer_handler
from nacre.faces.evaluator.evaluation import Evaluator
from nacre.faces.evaluator.evaluator_function import policy_handler
from nacre.faces.http.laptop_server import asgi_app
from nacre.faces.mcp_endpoint import bearer_admission, called_address
from nacre.protocol.principal import FULL
from tests.end_to_end.profiles.neighbours import BOTH, WORK, neighbours
from tests.scaffolding.asgi_server import served
from tests.scaffolding.gateway_world import EVERYTHING_GOES, World
from tests.scaffolding.lambda_events import Sent, http_api_event

pytestmark = pytest.mark.security

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
BOUND_ELSEWHERE = "this token is bound to a profile; use it at that profile's URL: /mcp/PROFILE"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[World]:
    policy = BOTH + WORK + EVERYTHING_GOES
    with neighbours(tmp_path / "n", "garden", "office", policy=policy) as made:
        made.ask("tools/list")
        yield made


def token(gateway: World, profile: str = "", **more: Any) -> str:
    """Return a new token of the Being."""
    return gateway.laptop.tokens.issue(
        more.pop("kind", API),
        being_id=gateway.principal.being_id,
        owner="me",
        scopes=FULL,
        lifetime=timedelta(hours=1),
        profile=profile,
        **more,
    ).token


class Laptop:
    """Sends requests to the laptop's server."""

    def __init__(self, url: str) -> None:
        self._at = urlsplit(url).netloc
        self.base = f"http://{self._at}"

    def post(self, path: str, token: str, message: Any = LIST) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self._at, timeout=60)
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        connection.request("POST", path, json.dumps(message), headers)
        answer = connection.getresponse()
        said = answer.status, answer.read().decode()
        connection.close()
        return said


class Stack:
    """Sends events to the authorizer, and with its answer to the MCP function."""

    base = "https://nacre.example"

    def __init__(self, gateway: World) -> None:
        laptop = gateway.laptop
        self._authorize = authorizer_handler(laptop.tokens.lookup)
        self._handle = mcp_handler(
            laptop.application, log=Log(stream=StringIO()), public_url=self.base
        )

    def post(self, path: str, token: str, message: Any = LIST) -> tuple[int, str]:
        asked = {"identitySource": [f"Bearer {token}"]}
        context: Any = self._authorize(asked, None)["context"]
        headers = {"content-type": "application/json"}
        sent = Sent("POST", path, headers, json.dumps(message).encode())
        answer = self._handle(http_api_event(sent, context), object())
        return answer["statusCode"], answer["body"]


@contextmanager
def front(kind: str, gateway: World) -> Iterator[Any]:
    if kind == "stack":
        yield Stack(gateway)
        return
    base = called_address("", scheme="http")
    app = asgi_app(
        gateway.laptop.application,
        admit=bearer_admission(gateway.laptop.gate, base),
        base=base,
        log=Log(stream=StringIO()),
    )
    with served(app) as url:
        yield Laptop(url)


def names(answer: str) -> list[str]:
    return [each["name"] for each in json.loads(answer)["result"]["tools"]]


@pytest.fixture(params=["laptop", "stack"])
def place(request: pytest.FixtureRequest, gateway: World) -> Iterator[Any]:
    with front(request.param, gateway) as made:
        yield made


def test_a_bound_token_opens_its_profile_at_its_url(gateway: World, place: Any) -> None:
    status, answer = place.post(
        f"/mcp/home?being_id={gateway.principal.being_id}", token(gateway, "home")
    )

    assert status == 200
    assert names(answer) == ["mcp__garden__find", "mcp__garden__change"]


def test_a_bound_token_is_refused_at_every_other_url_with_one_text(
    gateway: World, place: Any
) -> None:
    being, bound = gateway.principal.being_id, token(gateway, "home")
    others = ["work", "nobody", "homes", "hom", being]
    paths = [f"/mcp?being_id={being}", *(f"/mcp/{other}?being_id={being}" for other in others)]
    answers = [place.post(path, bound) for path in paths]

    assert {status for status, _ in answers} == {403}
    assert {json.loads(text)["error"]["message"] for _, text in answers} == {BOUND_ELSEWHERE}


def test_names_that_are_nearly_a_profile_lead_nowhere(gateway: World, place: Any) -> None:
    being, bound = gateway.principal.being_id, token(gateway, "home")
    paths = ["/mcp/Home", "/mcp/HOME", "/mcp/home_", "/mcp/-home", "/mcp/home/work", "/mcp//home"]

    answers = [place.post(f"{path}?being_id={being}", bound) for path in paths]

    assert {status for status, _ in answers} == {404}


def test_a_token_without_a_profile_sees_everything_or_what_its_url_names(
    gateway: World, place: Any
) -> None:
    being, free = gateway.principal.being_id, token(gateway)
    everything = names(place.post(f"/mcp/{being}", free)[1])
    home = names(place.post(f"/mcp/home?being_id={being}", free)[1])
    nobody = place.post(f"/mcp/nobody?being_id={being}", free)

    assert {"recall", "mcp__garden__find", "mcp__office__find"} <= set(everything)
    assert home == ["mcp__garden__find", "mcp__garden__change"]
    assert nobody[0] == 404


def test_an_api_token_still_names_its_being(gateway: World, place: Any) -> None:
    bound = token(gateway, "home")
    other = "00000000-0000-4000-8000-000000000000"

    status, text = place.post("/mcp/home", bound)
    foreign = place.post(f"/mcp/home?being_id={other}", bound)

    assert (status, "needs its Being in the URL" in text) == (403, True)
    assert (foreign[0], "does not open that Being" in foreign[1]) == (403, True)


def test_a_login_token_of_a_profile_is_for_its_resource_alone(gateway: World, place: Any) -> None:
    def login(profile: str, resource: str) -> str:
        return token(
            gateway, profile, kind=OAUTH_ACCESS, client="c1", resource=f"{place.base}{resource}"
        )

    right, wrong = login("home", "/mcp/home"), login("home", "/mcp")
    unbound = login("", "/mcp/home")

    assert names(place.post("/mcp/home", right)[1]) == ["mcp__garden__find", "mcp__garden__change"]
    assert place.post("/mcp", right)[0] == 403
    assert place.post("/mcp/work", right)[0] == 403
    assert place.post("/mcp/home", wrong)[0] == 401
    assert place.post("/mcp", unbound)[0] == 401


def test_a_row_whose_profile_and_version_disagree_admits_nobody(gateway: World) -> None:
    """A reader of an older version would not notice the profile; it refuses the version."""
    free, bound = token(gateway), token(gateway, "home")
    rows = gateway.laptop.tokens
    free_row, bound_row = rows.lookup(digest(free)), rows.lookup(digest(bound))
    assert free_row is not None
    assert bound_row is not None
    assert (free_row["schema"], bound_row["schema"]) == (1, 2)
    for row in (
        {**bound_row, "schema": 1},
        {**free_row, "schema": 2},
        {**bound_row, "schema": 3},
        {key: value for key, value in bound_row.items() if key != "profile"},
    ):
        said = admission(f"Bearer {bound}", {digest(bound): row}.get, now=0)
        assert said == {"auth": "invalid"}


def test_a_function_that_is_older_than_profiles_refuses_a_bound_token(gateway: World) -> None:
    """During a deployment the authorizer may know profiles before the other functions do."""
    authorize = authorizer_handler(gateway.laptop.tokens.lookup)
    said: Any = authorize({"identitySource": [f"Bearer {token(gateway, 'home')}"]}, None)
    free: Any = authorize({"identitySource": [f"Bearer {token(gateway)}"]}, None)

    assert (said["context"]["auth"], said["context"]["profile"]) == ("bound", "home")
    assert (free["context"]["auth"], "profile" in free["context"]) == ("ok", False)


@pytest.mark.parametrize("auth", [{"auth": "ok", "profile": "home"}, {"auth": "bound"}])
def test_the_evaluator_refuses_a_token_that_is_half_bound(
    gateway: World, auth: dict[str, str]
) -> None:
    context = {**auth, "being_id": gateway.principal.being_id, "token_id": "tok_home"}
    event = {"requestContext": {"authorizer": {"lambda": context}}, "body": "{}"}

    assert policy_handler(lambda _: gateway.laptop.policies)(event, None)["statusCode"] == 401


@pytest.mark.parametrize("face", ["laptop", "stack"])
def test_the_evaluator_knows_the_profile_of_a_token(gateway: World, face: str) -> None:
    def ask(server: str, tool: str = "find") -> Any:
        params = {"name": tool, "arguments": {}}
        body = json.dumps({"method": "tools/call", "params": params, "server": server})
        if face == "laptop":
            evaluator = Evaluator(gateway.laptop.policies, Log(stream=StringIO()))
            being = gateway.principal.being_id
            return evaluator.answer(body.encode(), being, "tok_home", "home")
        context = {
            "auth": "bound",
            "being_id": gateway.principal.being_id,
            "token_id": "tok_home",
            "profile": "home",
        }
        event = {"requestContext": {"authorizer": {"lambda": context}}, "body": body}
        answer = policy_handler(lambda _: gateway.laptop.policies)(event, None)
        return answer["statusCode"], answer["body"].encode()

    mine, foreign, invented = ask("garden"), ask("office"), ask("nobody")

    assert json.loads(mine[1])["decision"] == "allow"
    assert json.loads(foreign[1])["text"] == "Blocked by policy (it is not in the profile)"
    assert foreign == invented


def test_stdio_serves_a_profile_and_refuses_an_unknown_one(tmp_path: Path) -> None:
    policy = BOTH + WORK + EVERYTHING_GOES
    with neighbours(tmp_path / "n", "garden", "office", policy=policy) as gateway:
        files = f"{tmp_path}/n/garden.py:server,{tmp_path}/n/office.py:server"
        data = str(gateway.folder / "data")
        policy_file = str(gateway.folder / "policy.toml")
    environment = {**os.environ, "NACRE_POLICY": policy_file, "NACRE_TOOL_SERVERS": files}
    command = [sys.executable, "-m", "nacre.cli", "mcp-server", "--data-dir", data, "--profile"]
    hello = {**LIST, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
    foreign = {"name": "mcp__office__find", "arguments": {"word": "x"}}
    messages = [hello, {**LIST, "id": 2}, {**LIST, "id": 3, "method": "tools/call"}]
    messages[2]["params"] = foreign
    lines = "".join(json.dumps(message) + "\n" for message in messages)

    def run(profile: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, profile],
            input=lines,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    home, nobody, unset = run("home"), run("nobody"), run("")
    answers = {each["id"]: each for each in map(json.loads, home.stdout.splitlines())}

    assert [each["name"] for each in answers[2]["result"]["tools"]] == [
        "mcp__garden__find",
        "mcp__garden__change",
    ]
    assert answers[3]["error"]["message"] == "Unknown tool: mcp__office__find"
    assert (nobody.stdout, nobody.returncode != 0) == ("", True)
    assert "there is no such profile" in nobody.stderr
    assert (unset.stdout, unset.returncode != 0) == ("", True)
    assert "--profile names no profile" in unset.stderr
