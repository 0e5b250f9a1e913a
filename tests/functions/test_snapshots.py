"""Functions that start from a snapshot, in Lambda's own runtime client on the built layers."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.access.beings import Beings
from nacre.core.clock import system_clock
from nacre.wiring.snapshots import MCP, PORTAL
from tests.functions.conftest import Store
from tests.functions.runtime_api import FunctionError
from tests.infra.declared import ROOT
from tests.scaffolding.dynamodb_http import CREDENTIALS
from tests.scaffolding.lambda_functions import deployed
from tests.scaffolding.server_threads import answering

pytestmark = pytest.mark.slow

SNAPSHOT = {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
TOKEN = "token of this environment"


def recorded(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((ROOT / "infra" / "events" / f"{name}.json").read_text())
    return event


class Keys(ThreadingHTTPServer):
    """The server from which Lambda gives credentials to restored functions."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.asked: list[str | None] = []
        self.hold = timedelta(hours=6)

    @property
    def variables(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": "",
            "AWS_SECRET_ACCESS_KEY": "",
            "AWS_SESSION_TOKEN": "",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{self.server_port}/2021/keys",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": TOKEN,
        }


class _Answer(BaseHTTPRequestHandler):
    server: Keys

    def do_GET(self) -> None:
        self.server.asked.append(self.headers["Authorization"])
        body = json.dumps(
            {
                "AccessKeyId": CREDENTIALS.access_key_id,
                "SecretAccessKey": CREDENTIALS.secret_access_key,
                "Token": CREDENTIALS.session_token,
                "Expiration": (datetime.now(UTC) + self.server.hold).strftime("%Y-%m-%dT%H:%M:%SZ"),
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Keys]:
    server = Keys()
    with answering(server):
        yield server


@pytest.fixture
def keys() -> Iterator[Keys]:
    with serving() as server:
        yield server


def call(event: dict[str, Any], name: str = "get_current_time", **arguments: str) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments or {"timezone": "Asia/Tokyo"}}
    message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    return event | {"body": json.dumps(message)}


def test_the_mcp_function_asks_for_its_keys_after_the_snapshot_and_goes_on(
    store: Store, keys: Keys
) -> None:
    variables = {**store.variables, **keys.variables, **SNAPSHOT}
    event = call(recorded("http_api_mcp"))
    with deployed("McpHttpFunction", variables=variables) as function:
        asked_before = list(keys.asked)
        connected = function.connected_in_snapshot
        answers = [json.loads(function.invoke(event)["body"])["result"] for _ in range(3)]
        logs = function.logs

    assert (asked_before, connected) == ([], [])
    assert [each["structuredContent"]["timezone"] for each in answers] == ["Asia/Tokyo"] * 3
    assert set(keys.asked) == {TOKEN}
    assert len(keys.asked) <= 3  # once for each table's reader and writer
    assert TOKEN not in logs
    assert CREDENTIALS.secret_access_key not in logs


def test_keys_that_run_out_are_renewed(store: Store, keys: Keys) -> None:
    keys.hold = timedelta(seconds=200)  # less than what they are renewed before
    variables = {**store.variables, **keys.variables, **SNAPSHOT}
    event = call(recorded("http_api_mcp"))
    with deployed("McpHttpFunction", variables=variables) as function:
        function.invoke(event)
        before = len(keys.asked)
        answer = json.loads(function.invoke(event)["body"])["result"]

    assert len(keys.asked) > before
    assert answer["structuredContent"]["timezone"] == "Asia/Tokyo"


@pytest.mark.parametrize(("name", "wanted"), [("McpHttpFunction", MCP), ("PortalFunction", PORTAL)])
def test_what_first_calls_need_is_in_the_snapshot(
    name: str, wanted: tuple[str, ...], keys: Keys, tmp_path: Path
) -> None:
    (tmp_path / "shown.py").write_text(
        "import sys\n"
        "from handler import handle as handle_own\n"
        "def handle(event, context):\n"
        "    return sorted(sys.modules)\n"
    )
    found = {}
    for kind, variables in {"snapshot": SNAPSHOT, "ordinary": {}}.items():
        given = {**keys.variables, **variables}
        with deployed(name, variables=given, handler="shown.handle", beside=tmp_path) as function:
            found[kind] = set(function.invoke({}))

    assert set(wanted) <= found["snapshot"]
    assert "boto3" not in found["ordinary"]
    assert keys.asked == []


def test_a_first_recall_loads_nothing_that_was_not_in_the_snapshot(
    store: Store, keys: Keys, tmp_path: Path
) -> None:
    (tmp_path / "shown.py").write_text(
        "import sys, time\n"
        "from handler import handle as handle_own\n"
        "def handle(event, context):\n"
        "    before, began = set(sys.modules), time.process_time()\n"
        "    body = handle_own(event, context)['body']\n"
        "    spent = time.process_time() - began\n"
        "    return {'body': body, 'spent': spent, 'new': sorted(set(sys.modules) - before)}\n"
    )
    event = recorded("http_api_mcp")
    being_id = event["requestContext"]["authorizer"]["lambda"]["being_id"]
    beings = Beings(store.table, clock=system_clock, rng=Random(1))
    beings.create("Pearl", owner="me", being_id=being_id)
    recall = call(event, "recall", user_message="the walnut tree")
    found = {}
    for kind, more in {"ordinary": {}, "snapshot": {**keys.variables, **SNAPSHOT}}.items():
        variables = {**store.variables, **more}
        with deployed(
            "McpHttpFunction", variables=variables, handler="shown.handle", beside=tmp_path
        ) as function:
            found[kind] = function.invoke(recall)

    for each in found.values():
        assert "isError" not in json.loads(each["body"])["result"]
    assert len(found["ordinary"]["new"]) > 300
    # Codecs and the like may come late; nothing of ours, and nothing large.
    assert not [name for name in found["snapshot"]["new"] if name.startswith("nacre")]
    assert len(found["snapshot"]["new"]) < 10
    spent = {kind: round(each["spent"] * 1000) for kind, each in found.items()}
    print(f"first recall, processor time in ms: {spent}")
    assert found["snapshot"]["spent"] < found["ordinary"]["spent"] * 0.6


@pytest.mark.parametrize("name", ["McpHttpFunction", "PortalFunction"])
def test_what_is_drawn_by_chance_differs_from_the_other_environments(
    name: str, keys: Keys, tmp_path: Path
) -> None:
    (tmp_path / "shown.py").write_text(
        "import random\n"
        "from handler import handle as handle_own\n"
        "random.seed(7)  # what is in the snapshot is the same everywhere\n"
        "def handle(event, context):\n"
        "    return [random.random() for _ in range(3)]\n"
    )
    same = Random(7)
    found = {}
    for kind, more in {"ordinary": {}, "snapshot": {**keys.variables, **SNAPSHOT}}.items():
        with deployed(name, variables=more, handler="shown.handle", beside=tmp_path) as function:
            found[kind] = function.invoke({})

    assert found["ordinary"] == [same.random() for _ in range(3)]
    assert not set(found["snapshot"]) & set(found["ordinary"])


def test_the_portal_answers_after_it_was_restored(keys: Keys) -> None:
    with deployed("PortalFunction", variables={**keys.variables, **SNAPSHOT}) as function:
        answer = function.invoke(recorded("http_api_portal"))
        connected = function.connected_in_snapshot

    assert (answer["statusCode"], connected) == (200, [])


def test_a_module_that_is_missing_shows_before_the_version_is_published(
    keys: Keys, tmp_path: Path
) -> None:
    (tmp_path / "shown.py").write_text(
        "from nacre.wiring.settings import Settings\n"
        "from nacre.wiring.snapshots import preload\n"
        "preload(Settings.from_environment(), ('no_such_module',))\n"
        "def handle(event, context): ...\n"
    )
    variables = {**keys.variables, **SNAPSHOT}
    with pytest.raises(FunctionError, match="no_such_module"):
        deployed(
            "McpHttpFunction", variables=variables, handler="shown.handle", beside=tmp_path
        ).__enter__()
