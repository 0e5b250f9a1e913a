"""Other people's clients log in by URL alone, on the laptop and behind API Gateway."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local_cloud import free_port
from infra.tools import programs
from nacre.core.limits import ACCESS_TOKEN_SECONDS
from tests.end_to_end.clients.oauth_fronts import FRONTS, LoginServer, clean_environment, opened_url
from tests.end_to_end.conformance.suite import NODE, ROOT

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
BIN = NODE / ".bin"
_SECONDS = 90


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("NACRE_", "AWS_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))
    (tmp_path / "home").mkdir()


@pytest.fixture(params=sorted(FRONTS))
def server(request: pytest.FixtureRequest) -> Iterator[LoginServer]:
    with FRONTS[request.param]() as made:
        yield made


class Program:
    """A client's process, with which the test and the owner speak in lines."""

    def __init__(self, command: list[str | Path], home: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [str(part) for part in command],
            env={**clean_environment(str(home)), "NODE_PATH": str(NODE), **environment},
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.told: list[str] = []
        self._timer = threading.Timer(_SECONDS, self.process.kill)
        self._timer.start()

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self.process.kill()
        self.process.communicate()

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def lines(self, stream: str = "stdout") -> Iterator[str]:
        source = getattr(self.process, stream)
        while line := source.readline():
            self.told.append(line)
            yield line.strip()

    def result(self) -> Any:
        """Return what the client printed at its end."""
        out, err = self.process.communicate()
        assert self.process.returncode == 0, "".join(self.told) + out + err
        return json.loads(out)


def converse(
    server: LoginServer, command: list[str | Path], home: Path, between: Callable[[], None]
) -> Any:
    """Run a client that speaks our lines to its end, and return what it saw."""
    with Program(command, home) as program:
        for line in program.lines():
            if line.startswith("OPEN "):
                program.say(server.owner.allow(line.removeprefix("OPEN ")))
            elif line == "READY":
                between()
                program.say("")
            elif line.startswith("{"):
                return json.loads(line)
        _, err = program.process.communicate()
        raise AssertionError("".join(program.told) + err)


CLIENTS: dict[str, Callable[[str, int], list[str | Path]]] = {
    "python-2": lambda url, rounds: [sys.executable, HERE / "oauth_python.py", url, str(rounds)],
    "python-1": lambda url, rounds: [
        programs("client-v1") / "python",
        HERE / "oauth_python.py",
        url,
        str(rounds),
    ],
    "typescript-1": lambda url, rounds: [
        BIN / "node",
        HERE / "oauth_typescript.cjs",
        "1",
        url,
        str(rounds),
    ],
    "typescript-2": lambda url, rounds: [
        BIN / "node",
        HERE / "oauth_typescript.cjs",
        "2",
        url,
        str(rounds),
    ],
}


@pytest.mark.parametrize("client", CLIENTS)
def test_an_official_client_logs_in_by_url_alone_and_comes_back(
    server: LoginServer, client: str, tmp_path: Path
) -> None:
    told = converse(server, CLIENTS[client](server.url, 2), tmp_path / "home", lambda: None)

    assert len(told["tools"]) == 2
    assert {"get_current_time", "update_notes"} <= set(told["tools"][1])
    assert told["scope"] == "mcp:read mcp:write"
    assert server.owner.logins == 1


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_renews_its_token_by_itself(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some go by their own clock, so they are told of a second where the server waits an hour.
    monkeypatch.setattr("nacre.web.oauth.routes.ACCESS_TOKEN_SECONDS", 1)
    with FRONTS["gateway"]() as server:
        place = server.place
        assert place is not None

        def hour() -> None:
            place.time.pass_(seconds=ACCESS_TOKEN_SECONDS)
            time.sleep(1.1)

        told = converse(server, CLIENTS[client](server.url, 3), tmp_path / "home", hour)

        assert len(told["tools"]) == 3
        assert server.owner.logins == 1
        assert len(place.authority.grants.of_owner("me")) == 1


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_whose_access_was_ended_asks_again(client: str, tmp_path: Path) -> None:
    with FRONTS["gateway"]() as server:
        place = server.place
        assert place is not None

        def end() -> None:
            [grant] = place.authority.grants.of_owner("me")
            place.authority.grants.end(grant.grant_id)

        told = converse(server, CLIENTS[client](server.url, 2), tmp_path / "home", end)

        assert len(told["tools"]) == 2
        assert server.owner.logins == 2


@pytest.mark.parametrize("client", ["python-2"])
def test_a_client_that_may_only_read_asks_for_more_when_it_writes(
    client: str, tmp_path: Path
) -> None:
    """Where the refusal carries its header; API Gateway renames it, so there one is asked once."""
    with FRONTS["laptop"]() as server:
        server.owner.scopes = ["read-only"]
        command = [*CLIENTS[client](server.url, 1), "update_notes"]
        told = converse(server, command, tmp_path / "home", lambda: None)

    assert server.owner.logins == 2
    assert told["scope"] == "mcp:read mcp:write"


def test_a_client_may_name_one_beings_endpoint(tmp_path: Path) -> None:
    with FRONTS["gateway"]() as server:
        place = server.place
        assert place is not None
        other = place.authority.beings.create("Bob", owner="me").being_id
        url = f"{server.url}/{other}"
        told = converse(server, CLIENTS["python-2"](url, 1), tmp_path / "home", lambda: None)
        [grant] = place.authority.grants.of_owner("me")

        assert told["tools"]
        assert (grant.being_id, grant.resource) == (other, url)


def test_mcp_remote_logs_in_and_bridges(server: LoginServer, tmp_path: Path) -> None:
    name, tools = through_mcp_remote(server, tmp_path / "home")

    assert name == "nacre"
    assert {"get_current_time", "update_notes"} <= tools
    assert server.owner.logins == 1


def through_mcp_remote(server: LoginServer, home: Path) -> tuple[str, set[str]]:
    """Return the server's name and its tools, as a client sees them through mcp-remote."""
    command: list[str | Path] = [BIN / "node", BIN / "mcp-remote", server.url, "--allow-http"]
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    with Program(command, home) as program:
        program.say(message(1, "initialize", hello))
        for line in program.lines("stderr"):
            url = opened_url(line)
            if url is not None:
                server.follow(server.owner.allow(url))
                break
        else:
            raise AssertionError("".join(program.told))
        # What it says of itself must be read on, or it waits for that.
        threading.Thread(target=lambda: list(program.lines("stderr")), daemon=True).start()
        answers = program.lines()
        first = json.loads(next(answers))
        program.say(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        program.say(message(2, "tools/list", {}))
        second = json.loads(next(answers))

    tools = {tool["name"] for tool in second["result"]["tools"]}
    return first["result"]["serverInfo"]["name"], tools


def message(number: int, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_logs_in(server: LoginServer, era: str, tmp_path: Path) -> None:
    assert {"get_current_time", "update_notes"} <= by_inspector(server, era, tmp_path / "home")


def by_inspector(server: LoginServer, era: str, home: Path) -> set[str]:
    """Return the tools that the inspector lists once it has logged in."""
    callback = f"http://127.0.0.1:{free_port()}/oauth/callback"
    command: list[str | Path] = [
        *(BIN / "node", BIN / "mcp-inspector", "--cli", server.url, "--transport", "http"),
        *("--protocol-era", era, "--method", "tools/list", "--format", "json"),
        *("--callback-url", callback),
    ]
    with Program(command, home, MCP_AUTO_OPEN_ENABLED="true") as program:
        for line in program.lines("stderr"):
            url = opened_url(line)
            if url is not None:
                server.follow(server.owner.allow(url))
                break
        else:
            raise AssertionError("".join(program.told))
        told = program.result()

    return {tool["name"] for tool in told.get("result", told)["tools"]}


def test_the_conformance_suite_finds_nothing_wrong(server: LoginServer, tmp_path: Path) -> None:
    found = conformance_findings(server, tmp_path)
    if server.place is None:
        # A laptop that is not reached from the internet fetches no documents, and says so.
        found = [each for each in found if "client_id_metadata_document" not in each["description"]]

    assert found == []


def conformance_findings(server: LoginServer, folder: Path) -> list[dict[str, Any]]:
    """Return what the suite's scenarios for authorization servers find."""
    base = server.url.removesuffix("/mcp")
    port = free_port()
    client_id = registered(base, f"http://127.0.0.1:{port}/callback")
    command: list[str | Path] = [
        *(BIN / "node", BIN / "conformance", "authorization", "--url", base),
        *("--client-id", client_id, "--resource", server.url, "--port", str(port)),
        *("--output-dir", folder / "out"),
    ]
    with Program(command, folder / "home") as program:
        # It prints the address, and waits for the browser.
        for line in program.lines():
            url = opened_url(line)
            if url is not None:
                server.follow(server.owner.allow(url))
        program.process.wait()
    checks = [
        check
        for path in (folder / "out").rglob("checks.json")
        for check in json.loads(path.read_text())
    ]

    assert program.process.returncode == 0, "".join(program.told)
    assert len(checks) >= 3
    return [check for check in checks if check["status"] != "SUCCESS"]


def registered(base: str, redirect_uri: str) -> str:
    import httpx2

    body = {"redirect_uris": [redirect_uri], "token_endpoint_auth_method": "none"}
    told = httpx2.post(f"{base}/register", json=body).json()
    return str(told["client_id"])


def test_the_suite_is_the_one_that_is_pinned() -> None:
    pinned = json.loads((ROOT / "infra" / "node" / "package.json").read_text())["dependencies"]

    assert {"@modelcontextprotocol/conformance", "mcp-remote"} <= set(pinned)
