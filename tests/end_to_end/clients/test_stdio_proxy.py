"""Other people's servers behind a proxy over stdio: every client sees what it sees without."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.firewall.confine.confined_world import IS_SUPPORTED
from tests.firewall.proxy.programs import proxied
from tests.scaffolding.gateway_world import EVERYTHING_GOES
from tests.scaffolding.third_party import SERVERS, Step, ThirdParty, differences
from tests.scaffolding.third_party_clients import seen_by_first_generation, seen_over_stdio

pytestmark = pytest.mark.slow

Sees = Callable[[list[str], dict[str, str], list[Step]], list[Any]]
CLIENTS: dict[str, Sees] = {
    "mcp 2 auto": lambda command, env, steps: seen_over_stdio(command, env, steps, mode="auto"),
    "mcp 2 legacy": lambda command, env, steps: seen_over_stdio(command, env, steps, mode="legacy"),
    "mcp 1": lambda command, env, steps: seen_by_first_generation(
        {"command": command, "env": env, "steps": [asdict(step) for step in steps]}
    ),
}


# What each server needs beside its runtime, its base and the rules.
CONFINED = {"git": ("--run", "git")}


def changed_by_the_proxy(
    server: ThirdParty, sees: Sees, folder: Path, *, pins: str, is_confined: bool = False
) -> tuple[list[Step], list[str]]:
    """Return the steps of two runs, and what the second saw otherwise."""
    (folder / "policy.toml").write_text(f'{EVERYTHING_GOES}[settings]\npins = "{pins}"\n')
    runs = []
    for via in ("direct", "proxied"):
        here = folder / via
        here.mkdir()
        server.prepare(here)
        command = server.command(here)
        if via == "proxied":
            options = ["--name", server.name]
            if is_confined:
                options += ["--confine", "--base", str(here), *CONFINED.get(server.name, ())]
                for name in server.variables(here):
                    options += ["--env", name]
            command = proxied(command, folder, *options)
        steps = [*server.steps(here)]
        runs.append((here, sees(command, server.environment(here), steps)))
    listed = [Step("opening"), *steps]
    return listed, differences(server, listed, *runs)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_works_unchanged(name: str, client: str, tmp_path: Path) -> None:
    steps, changed = changed_by_the_proxy(SERVERS[name], CLIENTS[client], tmp_path, pins="record")

    assert len(steps) > 7
    assert changed == []


@pytest.mark.skipif(not IS_SUPPORTED, reason="this kernel has no Landlock")
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_works_confined(name: str, tmp_path: Path) -> None:
    steps, changed = changed_by_the_proxy(
        SERVERS[name], CLIENTS["mcp 2 auto"], tmp_path, pins="record", is_confined=True
    )

    assert len(steps) > 7
    own = [text for text in changed if text.startswith("tools/call get-env:")]
    assert [text for text in changed if text not in own] == []
    assert all("TMPDIR" in text for text in own)  # its environment has a folder of its own


def test_a_tool_that_was_never_listed_is_all_that_quarantine_changes(tmp_path: Path) -> None:
    _, changed = changed_by_the_proxy(
        SERVERS["git"], CLIENTS["mcp 2 auto"], tmp_path, pins="quarantine"
    )

    assert [each.partition(":")[0] for each in changed] == ["tools/call no_such_tool"]
    assert "is not among those that 'git' had when it was approved" in changed[0]
