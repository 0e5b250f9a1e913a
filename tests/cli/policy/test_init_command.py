"""`nacre policy init`: the first policy of a reader."""

import io
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.firewall.pins import GLOBAL, Pins
from nacre.firewall.policies.loader import read_policy
from nacre.firewall.rules.rule import Subject
from nacre.wiring.data_folder import DATABASE
from tests.cli.conftest import Nacre


def test_the_first_policy_goes_where_it_counts(nacre: Nacre, tmp_path: Path) -> None:
    written = nacre("policy", "init")

    path = tmp_path / "home" / ".config" / "nacre" / "policy.toml"
    assert written.out == f"{path}\n"
    assert read_policy(path).rules


@pytest.mark.parametrize(
    ("answer", "is_written"), [("n\n", False), ("y\n", True), ("\n", True), ("", True)]
)
def test_a_no_is_heard_from_a_pipe_too(
    nacre: Nacre, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, is_written: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))

    written = nacre("policy", "init")

    assert (tmp_path / "home" / ".config" / "nacre" / "policy.toml").exists() is is_written
    assert ("Nothing was written." in written.err) is not is_written
    assert "Denied in every call" not in written.err or "all other calls" in written.err


def test_it_does_what_its_comments_say(nacre: Nacre, tmp_path: Path) -> None:
    nacre("policy", "init", str(tmp_path / "policy.toml"))
    policy = read_policy(tmp_path / "policy.toml")

    def decided(tool: str, server: str = "files", **arguments: str) -> str:
        return policy.decide(Subject("tool", tool, server, arguments)).action

    assert decided("filesystem_read", path="/home/user/projects/a.md") == "allow"
    assert decided("filesystem_read", path="/home/user/projects/../.ssh/id_rsa") == "deny"
    assert decided("filesystem_read", path="/home/user/projects/.env") == "deny"
    assert decided("filesystem_read", path="/etc/passwd") == "prompt"
    assert decided("shell_execute", command="ls") == "prompt"
    assert decided("delete_file", path="/home/user/projects/a.md") == "prompt"
    assert decided("update_notes", server="nacre") == "allow"
    assert decided("update_notes") == "prompt"
    assert decided("anything", server="other") == "prompt"


@pytest.mark.parametrize(("pack", "soul"), [("default", "allow"), ("careful", "prompt")])
def test_a_policy_that_is_shipped_can_be_written_on_from(
    nacre: Nacre, tmp_path: Path, pack: str, soul: str
) -> None:
    nacre("policy", "init", "--pack", pack, str(tmp_path / "policy.toml"))
    policy = read_policy(tmp_path / "policy.toml")
    change = {"action": "update", "target": "souls"}

    assert policy.decide(Subject("tool", "update_memory", "nacre", change)).action == soul


def test_what_is_there_is_never_overwritten(nacre: Nacre, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("mine")

    again = nacre("policy", "init", str(path))

    assert (again.code, path.read_text()) == (5, "mine")
    assert "already exists, and is not overwritten" in again.err


@pytest.mark.parametrize("place", ["file/policy.toml"])
def test_a_place_that_cannot_be_written_is_said(nacre: Nacre, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")

    assert nacre("policy", "init", str(tmp_path / place)).code in (2, 5)


# ------------------------------------------------------------------ the servers that are there

FILES: list[dict[str, Any]] = [
    {"name": "read_file", "annotations": {"readOnlyHint": True}},
    {"name": "delete_file", "annotations": {"readOnlyHint": False}},
    {"name": "odd*name"},
    {"name": 'quo"ted\\name'},
]


@pytest.fixture
def listed(nacre: Nacre, folder: Path) -> Iterator[Pins]:
    """Return the pins of a machine where the server `files` has listed its tools."""
    nacre("owner", "list")  # makes the folder
    database = SqliteDatabase(folder / DATABASE)
    pins = Pins(SqliteTable(database, "data"), GLOBAL)
    pins.observe("files", FILES, is_first=True)
    yield pins
    database.close()


def test_no_tool_is_cut_off_by_the_first_policy(nacre: Nacre, listed: Pins) -> None:
    """Without FILE it counts at once, so nothing that worked may stop."""
    for options in ([], ["--from-servers"], ["--pack", "careful"]):
        nacre("policy", "init", "--yes", *options)
        covered = json.loads(nacre("policy", "coverage", "--json").out)["tools"]
        path = Path(nacre("policy", "init").err.partition(": ")[2].partition(" already exists")[0])
        path.unlink()

        assert {each["fate"] for each in covered} <= {"allowed", "asked", "depends"}, options


@pytest.mark.parametrize(("options", "fate"), [([], "prompt"), (["--allow-reading"], "allow")])
def test_the_tools_that_are_there_get_a_rule_each(
    nacre: Nacre, listed: Pins, tmp_path: Path, options: list[str], fate: str
) -> None:
    path = tmp_path / "policy.toml"

    written = nacre("policy", "init", "--from-servers", *options, str(path))

    assert written.code == 0, written.err
    rules = [
        rule for rule in tomllib.loads(path.read_text())["rule"] if rule.get("server") == "files"
    ]
    assert {rule["tool"]: rule["action"] for rule in rules} == {
        "read_file": fate,
        "delete_file": "prompt",
        'quo"ted\\name': "prompt",
    }
    policy = read_policy(path)
    assert policy.decide(Subject("tool", "odd*name", "files", {})).action == "prompt"
    assert policy.decide(Subject("tool", "read_file", "new", {})).action == "prompt"
    assert (
        policy.decide(Subject("tool", "read_file", "files", {"path": "/h/.ssh/id"})).action
        == "deny"
    )


def test_what_changes_is_said_before_it_counts(nacre: Nacre, listed: Pins, tmp_path: Path) -> None:
    refused = nacre("policy", "init", "--from-servers", "--allow-reading")

    path = tmp_path / "home" / ".config" / "nacre" / "policy.toml"
    assert refused.code == 2
    assert not path.exists()
    [row] = [line for line in refused.err.splitlines() if line.startswith("files")]
    assert row.split() == ["files", "read_file", "asked", "allowed"]
    assert "Denied in every call: Keys and credentials" in refused.err
    assert nacre("policy", "init", "--from-servers", "--allow-reading", "--yes").code == 0
    assert path.exists()


def test_a_policy_that_changes_no_tool_needs_no_question(nacre: Nacre, listed: Pins) -> None:
    written = nacre("policy", "init", "--from-servers")

    assert written.code == 0
    assert "as the policy in force does" in written.err


@pytest.mark.parametrize(
    "options",
    [["--from-servers", "--pack", "default"], ["--allow-reading"], ["--stack", "s"]],
)
def test_options_that_do_not_fit_are_refused(nacre: Nacre, options: list[str]) -> None:
    assert nacre("policy", "init", *options).code == 2


def test_the_first_policy_covers_every_tool_and_has_no_idle_rule(
    nacre: Nacre, listed: Pins, tmp_path: Path
) -> None:
    path = tmp_path / "policy.toml"
    nacre("policy", "init", "--from-servers", str(path))

    covered = nacre("policy", "coverage", "--policy", str(path), "--json")

    assert json.loads(covered.out)["idle_rules"] == []
    assert covered.code == 0
