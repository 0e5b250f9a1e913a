"""Relative paths through the proxy, in front of servers that resolve them where they like."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.firewall.proxy.conftest import Proxy
from tests.firewall.proxy.programs import ROOT, proxied
from tests.scaffolding.third_party import SERVERS

KEY = "PRIVATE-KEY-OF-A-USER"
NOTES = "the notes of a project"
GUIDE = """
[[rule]]
action = "allow"
tool = "read_*"
server = "files"
args.path = "{home}/projects/**"
[[rule]]
action = "allow"
tool = "write_file"
server = "files"
args.path = "{home}/projects/**"
[settings]
pins = "off"
"""
DENY_AND_ALLOW = """
[[rule]]
action = "deny"
tool = "*"
args.path = "{home}/.ssh/**"
[[rule]]
action = "allow"
tool = "*"
[settings]
pins = "off"
"""
POLICIES = {"guide": GUIDE, "deny then allow": DENY_AND_ALLOW}
SECRETS = [
    ".ssh/id_rsa",
    "./.ssh/id_rsa",
    "projects/../.ssh/id_rsa",
    "../.ssh/id_rsa",
    "../user/.ssh/id_rsa",
    "id_rsa",
    "~/.ssh/id_rsa",
    "~/projects/../.ssh/id_rsa",
    ".ssh//id_rsa",
    "file:.ssh/id_rsa",
    "link/id_rsa",
    "projects/link/id_rsa",
]


@dataclass(frozen=True)
class Home:
    """A user's home folder with a key, a project, and a link to the keys."""

    folder: Path

    @property
    def user(self) -> Path:
        return self.folder / "home" / "user"

    def make(self) -> "Home":
        (self.user / ".ssh").mkdir(parents=True)
        (self.user / ".ssh" / "id_rsa").write_text(KEY)
        (self.user / "projects").mkdir()
        (self.user / "projects" / "notes.md").write_text(NOTES)
        (self.user / "projects" / "link").symlink_to(self.user / ".ssh")
        (self.user / "link").symlink_to(self.user / ".ssh")
        (self.folder / "elsewhere").mkdir()
        return self

    def expanded(self, text: str) -> Path:
        return Path(text.format(home=self.user, elsewhere=self.folder / "elsewhere"))

    def keys(self) -> list[str]:
        return sorted(each.name for each in (self.user / ".ssh").iterdir())


class Client:
    """A client that shows forms, and whose person always says no."""

    def __init__(self, proxy: Proxy, roots: list[Path]) -> None:
        self._proxy = proxy
        self._roots = [{"uri": each.as_uri()} for each in roots]
        self._last = 0
        self.questions = 0
        capabilities: dict[str, Any] = {"elicitation": {}} | ({"roots": {}} if roots else {})
        client = {"name": "test", "version": "1"}
        self._ask(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client},
        )
        proxy.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def call(self, tool: str, **arguments: str) -> str:
        """Return what comes back, as text."""
        return json.dumps(self._ask("tools/call", {"name": tool, "arguments": arguments}))

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        self._last += 1
        self._proxy.send(self._last, method, params)
        while True:
            message = self._proxy.message()
            if message.get("id") == self._last and "method" not in message:
                return message
            if "id" in message:
                self._answer(message)

    def _answer(self, message: dict[str, Any]) -> None:
        if message["method"] == "roots/list":
            result: dict[str, Any] = {"roots": self._roots}
        else:
            self.questions += 1
            result = {"action": "decline"}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        self._proxy.write(json.dumps(answer).encode() + b"\n")


@contextmanager
def client(
    home: Home, command: list[str], policy: str, *options: str, cwd: str, roots: tuple[str, ...]
) -> Iterator[Client]:
    extra = '[[rule]]\naction = "allow"\nmethod = "roots/list"\n' if roots else ""
    rules = POLICIES[policy].format(home=home.user)
    (home.folder / "policy.toml").write_text(extra + rules)
    line = proxied(command, home.folder, "--name", "files", *options)
    proxy = Proxy(line, home.expanded(cwd))
    assert proxy.process.stdin is not None
    assert proxy.process.stdout is not None
    with closing(proxy.process.stdin), closing(proxy.process.stdout):
        try:
            yield Client(proxy, [home.expanded(each) for each in roots])
        finally:
            proxy.process.kill()
            proxy.process.wait()


def no_key_gets_out(home: Home, talk: Client) -> None:
    """Try to read the key and to write a new one, by every path that leads there."""
    for path in SECRETS:
        assert KEY not in talk.call("read_text_file", path=path), path
        talk.call("write_file", path=path.replace("id_rsa", "authorized_keys"), content="mine")
        assert home.keys() == ["id_rsa"], path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path.resolve()).make()
    monkeypatch.setenv("HOME", str(made.user))
    return made


COMBINATIONS = {
    "elsewhere, no base": ("{elsewhere}", ["{home}"], [], ()),
    "at home, no base": ("{home}", ["{home}"], [], ()),
    "elsewhere, the right base": ("{elsewhere}", ["{home}"], ["{home}"], ()),
    "two roots, two bases": (
        "{home}/projects",
        ["{home}/projects", "{home}"],
        ["{home}/projects", "{home}"],
        (),
    ),
    "a base that its arguments do not show": ("{elsewhere}", ["{home}"], ["{home}/projects"], ()),
    "no file is opened, it is said": ("{elsewhere}", ["{home}"], ["none"], ()),
    "roots from the client": ("{elsewhere}", ["{home}/projects"], ["{home}/projects"], ("{home}",)),
}


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", COMBINATIONS)
def test_the_filesystem_server_gives_no_key_away(home: Home, name: str, policy: str) -> None:
    cwd, folders, bases, roots = COMBINATIONS[name]
    server = SERVERS["filesystem"].command(home.folder)[:2]
    command = [*server, *(str(home.expanded(each)) for each in folders)]
    options = [word for each in bases for word in ("--base", _folder(home, each))]
    with client(home, command, policy, *options, cwd=cwd, roots=roots) as talk:
        if not bases:
            talk.call("read_text_file", path="projects/notes.md")
            assert talk.questions == 1
        no_key_gets_out(home, talk)
        # What is allowed for certain goes on as before.
        assert NOTES in talk.call("read_text_file", path=f"{home.user}/projects/notes.md")
        if bases == ["{home}"]:
            assert NOTES in talk.call("read_text_file", path="projects/notes.md")
            talk.call("write_file", path="projects/new.md", content="new")
            assert (home.user / "projects" / "new.md").read_text() == "new"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("bases", [[], ["{home}"]], ids=["no base", "the right base"])
def test_a_server_that_confines_nothing_gives_no_key_away(
    home: Home, policy: str, bases: list[str]
) -> None:
    server = str(ROOT / "tests" / "firewall" / "proxy" / "rooted_server.py")
    command = [sys.executable, "-I", "-S", server, str(home.user)]
    options = [word for each in bases for word in ("--base", str(home.expanded(each)))]
    with client(home, command, policy, *options, cwd="{elsewhere}", roots=()) as talk:
        no_key_gets_out(home, talk)
        assert NOTES in talk.call("read_text_file", path=f"{home.user}/projects/notes.md")
        relative = talk.call("read_text_file", path="projects/notes.md")
        assert (NOTES in relative) is bool(bases)


def _folder(home: Home, base: str) -> str:
    return base if base == "none" else str(home.expanded(base))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("bases", [["{home}/projects"], ["none"], ["{home}/projects", "{home}/x"]])
def test_a_declared_base_does_not_hide_where_the_arguments_say_that_paths_begin(
    home: Home, policy: str, bases: list[str]
) -> None:
    server = ROOT / "tests" / "firewall" / "proxy" / "rooted_server.py"
    program = home.folder / "mcp-server-filesystem"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{server}" "$@"\n')
    program.chmod(0o755)
    options = [word for each in bases for word in ("--base", _folder(home, each))]
    command = [str(program), str(home.user)]
    with client(home, command, policy, *options, cwd="{elsewhere}", roots=()) as talk:
        no_key_gets_out(home, talk)
        assert NOTES in talk.call("read_text_file", path=f"{home.user}/projects/notes.md")
