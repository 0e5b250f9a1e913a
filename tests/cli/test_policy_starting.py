"""`nacre policy init`: the first policy of a reader."""

from pathlib import Path

import pytest

from nacre.policy.loading import read_policy
from nacre.policy.rule import Subject
from tests.cli.conftest import Nacre


def test_the_first_policy_goes_where_it_counts(nacre: Nacre, tmp_path: Path) -> None:
    written = nacre("policy", "init")

    path = tmp_path / "home" / ".config" / "nacre" / "policy.toml"
    assert written.out == f"{path}\n"
    assert read_policy(path).rules


def test_it_does_what_its_comments_say(nacre: Nacre, tmp_path: Path) -> None:
    nacre("policy", "init", str(tmp_path / "policy.toml"))
    policy = read_policy(tmp_path / "policy.toml")

    def decided(tool: str, server: str = "files", **arguments: str) -> str:
        return policy.decide(Subject("tool", tool, server, arguments)).action

    assert decided("filesystem_read", path="/home/user/projects/a.md") == "allow"
    assert decided("filesystem_read", path="/home/user/projects/../.ssh/id_rsa") == "deny"
    assert decided("filesystem_read", path="/home/user/projects/.env") == "deny"
    assert decided("filesystem_read", path="/etc/passwd") == "deny"
    assert decided("shell_execute", command="ls") == "prompt"
    assert decided("delete_file", path="/home/user/projects/a.md") == "prompt"
    assert decided("update_notes", server="nacre") == "allow"
    assert decided("update_notes") == "deny"


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
    assert "is there already, and stays as it is" in again.err


@pytest.mark.parametrize("place", ["file/policy.toml"])
def test_a_place_that_cannot_be_written_is_said(nacre: Nacre, tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")

    assert nacre("policy", "init", str(tmp_path / place)).code in (2, 5)
