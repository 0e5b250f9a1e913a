"""Calls that wait for somebody, through the proxy as a process."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

from tests.firewall.proxy.conftest import Proxy, Start
from tests.firewall.proxy.programs import NACRE, environment

ASK = """
[[rule]]
action = "prompt"
tool = "work"
description = "Work is asked about"
"""
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}


def nacre(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [*NACRE, "--data-dir", str(folder / "data"), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def opened(proxy: Proxy, capabilities: dict[str, Any]) -> Proxy:
    client = {"name": "test", "version": "1"}
    proxy.asked(
        0,
        "initialize",
        {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client},
    )
    return proxy


def first_choices(params: dict[str, Any]) -> dict[str, Any]:
    """Fill in a form: the first of each field's choices."""
    fields = params["requestedSchema"]["properties"]
    return {name: each.get("enum", [True])[0] for name, each in fields.items()}


def test_a_call_is_held_until_the_command_allows_it(start: Start, tmp_path: Path) -> None:
    proxy = opened(start("echo", policy=ASK), {})
    proxy.call(1, path="/a")
    assert proxy.asked(2)["id"] == 2  # meanwhile others go on

    (waiting,) = json.loads(nacre(tmp_path, "approvals", "list", "--json"))
    nacre(tmp_path, "approvals", "allow", waiting["ticket"])

    assert proxy.message()["result"]["echo"]["arguments"] == {"path": "/a"}


def test_a_call_is_held_until_the_command_denies_it(start: Start, tmp_path: Path) -> None:
    proxy = opened(start("echo", policy=ASK), {})
    proxy.call(1, path="/a")
    proxy.asked(2)

    (waiting,) = json.loads(nacre(tmp_path, "approvals", "list", "--json"))
    nacre(tmp_path, "approvals", "deny", waiting["ticket"])

    denied = proxy.message()
    assert (denied["id"], denied["result"]["isError"]) == (1, True)


def test_the_command_that_a_denied_call_names_can_be_pasted(start: Start) -> None:
    proxy = opened(start("echo", policy=f"{ASK}[settings]\nwait_seconds = 0\n"), {})
    proxy.call(1, path="/a")
    text = proxy.message()["result"]["content"][0]["text"]
    command = text.partition("with '")[2].partition("'; then")[0]

    subprocess.run(shlex.split(command), env=environment(), check=True)  # no shell, same words

    proxy.call(2, path="/a")
    assert proxy.message()["result"]["echo"]["arguments"] == {"path": "/a"}
    proxy.call(3, path="/a")
    assert proxy.message()["result"]["isError"] is True


def test_a_client_that_shows_forms_is_asked(start: Start) -> None:
    proxy = opened(start("echo", policy=ASK), {"elicitation": {}})
    proxy.call(1, path="/a")
    form = proxy.message()
    assert form["method"] == "elicitation/create"

    answer = {"action": "accept", "content": first_choices(form["params"])}
    proxy.write(json.dumps({"jsonrpc": "2.0", "id": form["id"], "result": answer}).encode() + b"\n")

    assert proxy.message()["result"]["echo"]["arguments"] == {"path": "/a"}


def test_a_client_of_the_stateless_generation_is_asked_by_a_result(start: Start) -> None:
    proxy = start("echo", policy=ASK)
    call = {"name": "work", "arguments": {"path": "/a"}, "_meta": MODERN}
    asked = proxy.asked(1, "tools/call", call)["result"]
    assert asked["resultType"] == "input_required"
    ((key, question),) = asked["inputRequests"].items()

    again = {
        **call,
        "requestState": asked["requestState"],
        "inputResponses": {key: {"action": "accept", "content": first_choices(question["params"])}},
    }

    assert proxy.asked(2, "tools/call", again)["result"]["echo"] == call
