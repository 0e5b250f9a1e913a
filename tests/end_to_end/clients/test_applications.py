"""Applications that people use connect: by a header, and by logging in. None needs a model key."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nacre.core.limits import ACCESS_TOKEN_SECONDS
from tests.cli.processes import finish, serving, start
from tests.end_to_end.clients.oauth_fronts import (
    LoginServer,
    clean_environment,
    gateway_login,
    opened_url,
)
from tests.end_to_end.conformance.suite import NODE
from tests.scaffolding.third_party import ROOT

pytestmark = pytest.mark.slow

BIN = NODE / ".bin"
# npm has its programs for some platforms only, so the one for Linux is installed by itself.
PROGRAMS = {"opencode": NODE / "opencode-linux-x64-baseline" / "bin" / "opencode"}
_SECONDS = 90


@pytest.fixture(autouse=True)
def _nothing_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("NACRE_", "AWS_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("NACRE_HOME", str(tmp_path / "data"))


@dataclass(frozen=True, slots=True)
class Machine:
    """A home with nothing in it, and the applications."""

    home: Path

    def run(self, *command: str, **variables: str) -> str:
        """Run a command to its end, and return what it printed."""
        done = subprocess.run(
            [self._program(command[0]), *command[1:]],
            env=self.environment(**variables),
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)

    def open(
        self, *command: str, terminal: int = subprocess.PIPE, **variables: str
    ) -> "subprocess.Popen[str]":
        """Start a command that speaks with its user."""
        return subprocess.Popen(
            [self._program(command[0]), *command[1:]],
            env=self.environment(**variables),
            cwd=self.home,
            stdin=terminal,
            stdout=terminal,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the variables of a user who has no browser."""
        path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        return {**clean_environment(str(self.home)), "PATH": path, "BROWSER": "true", **variables}

    def connect(self, client: str, url: str) -> None:
        """Let Nacre write the entry of a client."""
        command = [sys.executable, "-m", "nacre.cli", "connect", client, "--url", url]
        environment = self.environment(PYTHONPATH=str(ROOT / "shared"))
        subprocess.run(command, env=environment, check=True, capture_output=True)

    def write(self, name: str, value: Any) -> None:
        """Write a configuration."""
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))

    def _program(self, name: str) -> str:
        program = PROGRAMS.get(name, BIN / name)
        try:
            done = subprocess.run(
                [program, "--version"],
                env=self.environment(),
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except OSError as error:
            pytest.skip(f"NOT RUN: {name} does not run on this platform ({error})")
        if done.returncode:
            pytest.skip(f"NOT RUN: {name} does not run on this platform: {done.stderr[-200:]!r}")
        return str(program)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "home").mkdir()
    return Machine(tmp_path / "home")


# By a header.


@dataclass(frozen=True, slots=True)
class Door:
    """A running server, and a token for its Being."""

    url: str
    token: str


@pytest.fixture
def door() -> Iterator[Door]:
    with serving() as server:
        code, out, err = finish(start("token", "create", "--scope", "full", "--json"))
        assert code == 0, err
        issued = json.loads(out)
        yield Door(f"{server.url}/{issued['being_id']}", issued["token"])


def claude_header(machine: Machine, door: Door) -> str:
    add = ("claude", "mcp", "add", "--transport", "http", "-s", "user", "nacre", door.url)
    machine.run(*add, "--header", f"Authorization: Bearer {door.token}")
    return machine.run("claude", "mcp", "list")


def codex_header(machine: Machine, door: Door) -> str:
    add = ("codex", "mcp", "add", "nacre", "--url", door.url)
    machine.run(*add, "--bearer-token-env-var", "NACRE_TOKEN")
    return codex_tools(machine, NACRE_TOKEN=door.token)


def gemini_header(machine: Machine, door: Door) -> str:
    machine.write(".gemini/settings.json", {"security": {"folderTrust": {"enabled": False}}})
    add = ("gemini", "mcp", "add", "-s", "user", "-t", "http", "nacre", door.url)
    machine.run(*add, "-H", f"Authorization: Bearer {door.token}")
    return machine.run("gemini", "mcp", "list")


def opencode_header(machine: Machine, door: Door) -> str:
    headers = {"Authorization": f"Bearer {door.token}"}
    opencode_config(machine, {"url": door.url, "headers": headers})
    return machine.run("opencode", "mcp", "list")


HEADERS: dict[str, tuple[Callable[[Machine, Door], str], str]] = {
    "claude": (claude_header, "✔ Connected"),
    "codex": (codex_header, '"get_current_time"'),
    "gemini": (gemini_header, "Connected"),
    "opencode": (opencode_header, "✓ nacre connected"),
}


@pytest.mark.parametrize("application", HEADERS)
def test_an_application_connects_with_a_token_in_a_header(
    application: str, machine: Machine, door: Door
) -> None:
    connect, sign = HEADERS[application]

    assert sign in connect(machine, door)


def codex_tools(machine: Machine, **variables: str) -> str:
    """Return what Codex knows of its servers, as its editors' extensions ask for it."""
    hello = {"clientInfo": {"name": "t", "title": "t", "version": "1"}}
    process = machine.open("codex", "app-server", terminal=subprocess.PIPE, **variables)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for message in (
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "initialized"},
            {"id": 2, "method": "mcpServerStatus/list", "params": {}},
        ):
            process.stdin.write(f"{json.dumps(message)}\n")
        process.stdin.flush()
        return next(line for line in process.stdout if '"id":2' in line)
    finally:
        process.kill()
        process.communicate()


def opencode_config(machine: Machine, server: dict[str, Any]) -> None:
    entry = {"type": "remote", **server}
    machine.write(".config/opencode/opencode.json", {"mcp": {"nacre": entry}})


# By logging in.


def log_in(machine: Machine, server: LoginServer, *command: str) -> None:
    """Run a command that logs in; the owner opens the address that it prints and allows it."""
    process = machine.open(*command)
    assert process.stdout is not None
    told = []
    try:
        for line in process.stdout:
            told.append(line)
            url = opened_url(re.sub(r"\x1b\[[0-9;]*m", "", line))
            if url is None:
                continue
            server.follow(server.owner.allow(url))
            break
        rest, _ = process.communicate(timeout=_SECONDS)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, "".join(told) + rest


def log_in_at_terminal(machine: Machine, server: LoginServer, *command: str) -> None:
    """Log in with a program that wants a terminal, and where the answer goes pasted there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 2000, 0, 0))  # no wrapped lines
    process = machine.open(*command, terminal=theirs)
    os.close(theirs)
    told, has_pasted = "", False
    try:
        with suppress(OSError):  # the terminal is gone with the program
            while piece := os.read(ours, 65536):
                told += piece.decode(errors="replace")
                plain = re.sub(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)", "", told)
                url = None if has_pasted else opened_url(plain.rpartition("\n")[0])
                if url is not None:
                    has_pasted = True
                    os.write(ours, f"{server.owner.allow(url)}\r".encode())
        process.wait(_SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert process.returncode == 0, told


def claude_login(machine: Machine, server: LoginServer) -> Callable[[], str]:
    machine.connect("claude-code", server.url)
    log_in_at_terminal(machine, server, "claude", "mcp", "login", "nacre", "--no-browser")
    return lambda: machine.run("claude", "mcp", "list")


def codex_login(machine: Machine, server: LoginServer) -> Callable[[], str]:
    machine.connect("codex", server.url)
    log_in(machine, server, "codex", "mcp", "login", "nacre")
    return lambda: codex_tools(machine)


def opencode_login(machine: Machine, server: LoginServer) -> Callable[[], str]:
    machine.connect("opencode", server.url)
    log_in(machine, server, "opencode", "mcp", "auth", "nacre")
    return lambda: machine.run("opencode", "mcp", "list")


class Published:
    """What the makers publish about their clients, which cannot be fetched here."""

    def fetch(self, url: str) -> bytes:
        hosts = ("127.0.0.1", "localhost")
        document = {
            "client_id": url,
            "client_name": "An application",
            "redirect_uris": [f"http://{host}/callback" for host in hosts],
            "token_endpoint_auth_method": "none",
        }
        return json.dumps(document).encode()


def gemini_login(machine: Machine, server: LoginServer) -> Callable[[], str]:
    # A session begins with any key; it is used with the first message, and none is sent.
    settings = {"folderTrust": {"enabled": False}, "auth": {"selectedType": "gemini-api-key"}}
    machine.write(".gemini/settings.json", {"security": settings})
    machine.connect("gemini-cli", server.url)
    log_in_within_a_session(machine, server, "gemini", "/mcp auth nacre")
    return lambda: machine.run("gemini", "mcp", "list")


def log_in_within_a_session(
    machine: Machine, server: LoginServer, program: str, command: str
) -> None:
    """Type a command into a program's session, and allow what it asks for."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 2000, 0, 0))  # no wrapped lines
    process = machine.open(program, terminal=theirs, GEMINI_API_KEY="none", NO_BROWSER="1")
    os.close(theirs)
    shown, plain, steps = (
        "",
        "",
        ["Type your message", f"> {command}", "http", "uccessfully authenticated"],
    )
    deadline = time.monotonic() + 2 * _SECONDS
    try:
        while steps and time.monotonic() < deadline:
            if not select.select([ours], [], [], 1)[0]:
                if steps[0] == "http":  # a key is lost while the program completes the command
                    os.write(ours, b"\r")
                continue
            shown += os.read(ours, 65536).decode(errors="replace")
            plain = re.sub(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)", "", shown)
            url = opened_url(plain.rpartition("\n")[0])
            if steps[0] not in plain or (steps[0] == "http" and url is None):
                continue
            done = steps.pop(0)
            if done == "Type your message":
                os.write(ours, command.encode())
            elif done == "http" and url is not None:
                # The program waits for its terminal to be read while it takes the answer.
                answer = server.owner.allow(url)
                threading.Thread(target=server.follow, args=(answer,), daemon=True).start()
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert steps == [], re.sub(r"\s+", " ", plain)[-3000:]


LOGINS: dict[str, tuple[Callable[[Machine, LoginServer], Callable[[], str]], str]] = {
    "claude": (claude_login, "✔ Connected"),
    "codex": (codex_login, '"get_current_time"'),
    "gemini": (gemini_login, "Connected"),
    "opencode": (opencode_login, "✓ nacre connected"),
}


@pytest.mark.parametrize("application", LOGINS)
def test_an_application_logs_in_by_url_alone_and_renews_its_token(
    application: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some go by their own clock, so they are told of a second where the server waits an hour.
    monkeypatch.setattr("nacre.web.oauth.routes.ACCESS_TOKEN_SECONDS", 1)
    connect, sign = LOGINS[application]
    with gateway_login(Published()) as server:
        place = server.place
        assert place is not None
        look = connect(machine, server)
        first = look()
        place.time.pass_(seconds=ACCESS_TOKEN_SECONDS)
        time.sleep(1.1)
        second = look()

        assert sign in first
        assert sign in second
        assert server.owner.logins == 1
        assert len(place.authority.grants.of_owner("me")) == 1


def test_gemini_cli_reads_the_entry_that_nacre_writes(machine: Machine) -> None:
    machine.write(".gemini/settings.json", {"security": {"folderTrust": {"enabled": False}}})
    machine.connect("gemini-cli", "http://127.0.0.1:1/mcp")

    assert "nacre: http://127.0.0.1:1/mcp (http)" in machine.run("gemini", "mcp", "list")


def test_the_guide_names_the_versions_that_are_run() -> None:
    package = json.loads((ROOT / "infra" / "node" / "package.json").read_text())
    pinned = package["dependencies"] | package["optionalDependencies"]
    guide = " ".join((ROOT / "docs" / "guides" / "connect.md").read_text().split())
    packages = (
        *("@anthropic-ai/claude-code", "@openai/codex", "@google/gemini-cli"),
        "opencode-linux-x64-baseline",
    )

    assert [name for name in packages if f" {pinned[name]}" not in guide] == []
