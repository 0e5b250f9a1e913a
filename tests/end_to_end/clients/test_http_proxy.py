"""Other people's servers over HTTP behind both proxies: every client sees what it sees without."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from infra.local_cloud import free_port
from tests.cli.processes import serving as serving_nacre
from tests.end_to_end.clients.far_servers import SDK, running, serving
from tests.end_to_end.clients.test_typescript_client import converse, nacre
from tests.firewall.proxy.programs import NACRE, environment
from tests.scaffolding.gateway_world import EVERYTHING_GOES
from tests.scaffolding.third_party import (
    SERVERS,
    Step,
    ThirdParty,
    differences,
)
from tests.scaffolding.third_party_clients import (
    seen_by_first_generation,
    seen_over_http,
    seen_over_stdio,
)

pytestmark = pytest.mark.slow

POLICY = EVERYTHING_GOES + '[settings]\npins = "record"\n'
FORMS = ("direct", "--listen", "--url")
CLIENTS = ("mcp 2 auto", "mcp 2 legacy", "mcp 1")


def options(folder: Path) -> list[str]:
    return ["--data-dir", str(folder / "data"), "--policy", str(folder / "policy.toml")]


@contextmanager
def listening(url: str, folder: Path, *more: str) -> Iterator[str]:
    """Put a reverse proxy before a URL, and yield its own."""
    port = free_port()
    command = [*NACRE, "proxy", *options(folder), "--url", url, "--listen", f"127.0.0.1:{port}"]
    with running([*command, *more], port, folder, environment()):
        yield f"http://127.0.0.1:{port}{urlsplit(url).path}"


def seen(client: str, url: str, steps: list[Step], transport: str) -> list[Any]:
    if client == "mcp 1":
        asked = {"url": url, "transport": transport, "steps": [asdict(step) for step in steps]}
        return seen_by_first_generation(asked)
    return seen_over_http(url, steps, mode=client.split()[-1], transport=transport)


def seen_through(
    form: str, client: str, url: str, steps: list[Step], transport: str, folder: Path
) -> list[Any]:
    """Return what a client sees of a server by one of the three ways."""
    if form == "direct":
        return seen(client, url, steps, transport)
    if form == "--listen":
        with listening(url, folder) as own:
            return seen(client, own, steps, transport)
    command = [*NACRE, "proxy", *options(folder), "--url", url]
    if client == "mcp 1":
        asked = {
            "command": command,
            "env": environment(),
            "steps": [asdict(each) for each in steps],
        }
        return seen_by_first_generation(asked)
    return seen_over_stdio(command, environment(), steps, mode=client.split()[-1])


def changed(server: ThirdParty, client: str, transport: str, folder: Path) -> dict[str, list[str]]:
    """Return what a client saw otherwise behind each proxy."""
    (folder / "policy.toml").write_text(POLICY)
    port = free_port()  # the same for all runs, because servers show their environment
    runs: dict[str, tuple[Path, list[Any]]] = {}
    steps: list[Step] = []
    for form in FORMS:
        here = folder / form.strip("-")
        here.mkdir()
        with serving(server, transport, here, port) as url:
            steps = [*server.steps(here)]
            runs[form] = (here, seen_through(form, client, url, steps, transport, folder))
    listed = [Step("opening"), *steps]
    return {form: differences(server, listed, runs["direct"], runs[form]) for form in FORMS[1:]}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", ["sdk", *SERVERS])
def test_a_server_works_unchanged_over_streamable_http(
    name: str, client: str, tmp_path: Path
) -> None:
    server = SDK if name == "sdk" else SERVERS[name]

    assert changed(server, client, "http", tmp_path) == {"--listen": [], "--url": []}


@pytest.mark.parametrize("client", ["mcp 2 legacy", "mcp 1"])
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_works_unchanged_over_the_older_transport(
    name: str, client: str, tmp_path: Path
) -> None:
    assert changed(SERVERS[name], client, "sse", tmp_path) == {"--listen": [], "--url": []}


@pytest.mark.parametrize("form", ["--listen", "--pass-authorization", "--url"])
def test_the_typescript_client_sees_our_own_server_unchanged(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "home"))
    being = nacre("being", "create", "Ann")
    token = nacre("token", "create", "--scope", "full")
    monkeypatch.setenv("FAR_TOKEN", token)
    with serving_nacre() as server:
        url = f"{server.url}/{being}"
        direct = converse(url=url, token=token)
        if form == "--url":
            given = ["-m", "nacre.cli", "proxy", *options(tmp_path), "--url", url]
            told = converse(command=sys.executable, args=[*given, "--bearer-env", "FAR_TOKEN"])
        elif form == "--listen":
            with listening(url, tmp_path, "--bearer-env", "FAR_TOKEN") as own:
                told = converse(url=own)
        else:
            with listening(url, tmp_path, form) as own:
                told = converse(url=own, token=token)
                refused = converse(url=own)
            assert refused["refused"] == 401

    told["noted"][1]["note_ids"] = direct["noted"][1]["note_ids"]
    # The session is one of ours, by which clients of a server without sessions are told apart.
    session = told.pop("session")
    assert direct.pop("session") is None
    assert (session or "").startswith("nacre-") == (form != "--url")
    if form == "--url":
        told["version"] = direct["version"]  # which its transport does not tell
    assert told == direct
