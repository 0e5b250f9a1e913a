"""Limits on a stack: counts and places in its table, whole results in its bucket."""

import gc
import json
from typing import Any

import pytest

from nacre.core.clock import system_clock
from nacre.core.coroutines import step
from nacre.faces.mcp_endpoint import dispatcher
from nacre.firewall.policies.version_store import PolicyVersions
from nacre.protocol.caller import Caller, Peer
from nacre.protocol.context import Silence
from nacre.protocol.messages import Answer, Request
from nacre.protocol.principal import FULL, Principal
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import Home, compose
from nacre.wiring.settings import Secret, Settings
from tests.firewall.guarding import MODERN
from tests.scaffolding.aws_stack import REGION, aws_stack
from tests.scaffolding.dynamodb_http import CREDENTIALS, dynamodb_over_http

POLICY = """
[[rule]]
action = "allow"
tool = "**"
[[limit]]
tool = "get_context"
result_bytes = 1000
[[limit]]
tool = "get_context"
concurrency = 1
[[limit]]
tool = "get_context"
bytes = 2500
per = "day"
"""


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


def ask(home: Home, caller: Principal, method: str, params: dict[str, Any]) -> dict[str, Any]:
    request = Request(1, method, params)
    begun = dispatcher(home.application).begin(request, Caller(MODERN, caller, Peer({})))
    answer = begun if isinstance(begun, Answer) else step(begun.run(Silence()))
    return dict(json.loads(answer.body))


# Lambda ends its environments without a word; nobody closes their connections.
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_stack_cuts_stores_and_counts() -> None:
    with aws_stack() as stack, dynamodb_over_http(stack) as front:
        settings = Settings(data_folder="", embeddings="none")._replace(
            region=REGION,
            data_table=stack.ids["DataTable"],
            queue_url=stack.ids["PatrolQueue"],
            bucket=stack.ids["BlobsBucket"],
            key_arn=stack.ids["NacreKey"],
            endpoint_url=front.url,
            access_key_id=CREDENTIALS.access_key_id,
            secret_access_key=Secret(CREDENTIALS.secret_access_key),
            session_token=Secret(CREDENTIALS.session_token),
        )
        ports = StackPorts(settings, clients=lambda service: getattr(stack, service))
        home = compose(ports, settings)
        PolicyVersions(home.data, clock=system_clock).push(
            "global", POLICY, source="p.toml", based_on=0, by="ann"
        )
        being = home.beings.create("Pearl", owner="ann")
        one, other = (Principal(name, being.being_id, FULL) for name in ("t1", "t2"))
        note = {"name": "update_notes", "arguments": {"notes": ["A long note. " * 15] * 10}}
        assert "isError" not in ask(home, one, "tools/call", note)["result"]

        call = {"name": "get_context", "arguments": {}}
        answers = [ask(home, one, "tools/call", call)["result"] for _ in range(3)]
        uri = answers[0]["content"][-1]["uri"]
        read = ask(home, one, "resources/read", {"uri": uri})
        foreign = ask(home, other, "resources/read", {"uri": uri})
        home.close()
        del home, ports
        gc.collect()

    assert "Cut by policy (limit 1)" in answers[0]["content"][-2]["text"]
    assert "A long note." in str(read["result"]["contents"])
    assert "Resource not found" in foreign["error"]["message"]
    # Two results of up to 1,000 bytes fit, and every call has given its place back.
    assert "not have enough left for this call" in answers[2]["content"][0]["text"]
