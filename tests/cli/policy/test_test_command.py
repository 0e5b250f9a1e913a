"""`nacre policy test`: fixtures, exit codes and reports."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from tests.cli.conftest import Nacre

POLICY = """
[[rule]]
action = "deny"
tool = "shell_execute"
description = "Block all shell execution"

[[rule]]
action = "prompt"
tool = "filesystem_*"
args.path = "/etc/**"

[[rule]]
action = "allow"
tool = "filesystem_read"
args.path = "/home/user/projects/**"
server = "files"
"""


def call(tool: str, path: str | None = None, **others: Any) -> dict[str, Any]:
    """Return a fixture."""
    arguments = {} if path is None else {"path": path}
    return {"method": "tools/call", "params": {"name": tool, "arguments": arguments}, **others}


SHELL = call("shell_execute")
SYSTEM = call("filesystem_read", "/etc/passwd")
PROJECT = call("filesystem_read", "/home/user/projects/a.md", server="files")
KEY = call("filesystem_read", "/home/user/.ssh/id_rsa", expected="deny")


@pytest.fixture
def policy(tmp_path: Path) -> str:
    (tmp_path / "policy.toml").write_text(POLICY)
    return str(tmp_path / "policy.toml")


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    """The folder that the tests write fixtures into."""
    folder = tmp_path / "fixtures"
    folder.mkdir()
    return folder


def write(folder: Path, name: str, fixture: Any) -> str:
    path = folder / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(fixture if isinstance(fixture, str) else json.dumps(fixture))
    return str(path)


@pytest.mark.requirement("004.test.fixture")
@pytest.mark.parametrize(
    ("fixture", "said"),
    [
        (SHELL, "deny (rule 1: Block all shell execution)"),
        (SYSTEM, "prompt (rule 2)"),
        (PROJECT, "allow (rule 3)"),
        (KEY | {"expected": None}, "deny (no rule matches)"),
    ],
    ids=["deny", "prompt", "allow", "default"],
)
def test_one_fixture_is_decided(
    nacre: Nacre, policy: str, fixtures: Path, fixture: Mapping[str, Any], said: str
) -> None:
    path = write(fixtures, "call", fixture)

    tested = nacre("policy", "test", "--policy", policy, "--fixture", path)

    assert (tested.code, tested.out) == (0, f"-     {path}: {said}\n")
    assert tested.err == "0 as expected, 0 not, 1 without expectation\n"


@pytest.mark.requirement("004.test.directory")
def test_every_fixture_of_a_folder_is_decided(nacre: Nacre, policy: str, fixtures: Path) -> None:
    write(fixtures, "b", SHELL | {"expected": "deny"})
    write(fixtures, "a", PROJECT | {"expected": "allow"})
    write(fixtures, "below/c", KEY)
    (fixtures / "notes.txt").write_text("not a fixture")

    tested = nacre("policy", "test", "--policy", policy, "--fixture-dir", str(fixtures))

    assert tested.code == 0
    assert tested.out.splitlines() == [
        f"ok    {fixtures}/a.json: allow (rule 3)",
        f"ok    {fixtures}/b.json: deny (rule 1: Block all shell execution)",
        f"ok    {fixtures}/below/c.json: deny (no rule matches)",
    ]


@pytest.mark.requirement("004.test.exit")
def test_a_decision_that_differs_fails(nacre: Nacre, policy: str, fixtures: Path) -> None:
    right = write(fixtures, "right", KEY)
    wrong = write(fixtures, "wrong", PROJECT | {"expected": "deny"})

    tested = nacre("policy", "test", "--policy", policy, "--fixture", right, "--fixture", wrong)

    assert tested.code == 1
    assert tested.out.splitlines()[1] == f"FAIL  {wrong}: allow, expected deny (rule 3)"
    assert tested.err == "1 as expected, 1 not, 0 without expectation\n"


@pytest.mark.requirement("004.test.expect")
@pytest.mark.parametrize(("expected", "code"), [("deny", 0), ("allow", 1), ("prompt", 1)])
@pytest.mark.parametrize("in_file", [None, "allow", "deny"])
def test_an_expectation_may_be_given_for_all(
    nacre: Nacre, policy: str, fixtures: Path, expected: str, code: int, in_file: str | None
) -> None:
    path = write(fixtures, "call", SHELL | ({"expected": in_file} if in_file else {}))

    tested = nacre("policy", "test", "--policy", policy, "--fixture", path, "--expect", expected)

    assert tested.code == code


@pytest.mark.requirement("004.test.format")
def test_the_seeds_own_fixture_is_read(nacre: Nacre, policy: str, fixtures: Path) -> None:
    path = write(
        fixtures,
        "read-ssh-key",
        """{
  "method": "tools/call",
  "params": {
    "name": "filesystem_read",
    "arguments": {
      "path": "/home/user/.ssh/id_rsa"
    }
  },
  "expected": "deny"
}
""",
    )

    [decided] = nacre("policy", "test", "--policy", policy, "--fixture", path, "--json").json()
    assert (decided["decision"], decided["expected"]) == ("deny", "deny")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "it holds no value"),
        ("{", "is not valid JSON"),
        ("[]", "a call is a JSON object"),
        ('{"method": "tools/call", "method": "ping"}', "repeats the key 'method'"),
        ('{"params": {}}', "'method' must be a string"),
        ('{"method": 7}', "'method' must be a string"),
        ('{"method": "tools/call", "expect": "deny"}', "unknown key 'expect'"),
        ('{"method": "tools/call", "expected": "denied"}', "'expected' must be allow, deny or"),
        ('{"method": "tools/call", "expected": ["deny"]}', "'expected' must be allow, deny or"),
        ('{"method": "tools/call", "server": 1}', "'server' must be the name of a server"),
        ('{"method": "tools/call", "where": []}', "'where' must be an object"),
        ('{"method": "tools/call", "where": {"host": "x"}}', "'where.host' is unknown"),
        ('{"method": "tools/call", "where": {"is_local": "yes"}}', "'where.is_local' is unknown"),
        ('{"method": "tools/call", "params": {"a": NaN}}', "a number that JSON cannot carry"),
    ],
)
def test_a_fixture_that_is_wrong_is_named(
    nacre: Nacre, policy: str, fixtures: Path, content: str, said: str
) -> None:
    good = write(fixtures, "a", SHELL)
    path = write(fixtures, "b", content)

    tested = nacre("policy", "test", "--policy", policy, "--fixture", good, "--fixture", path)

    assert (tested.code, tested.out) == (2, "")
    assert tested.err.startswith(f"error: {path}: ")
    assert said in tested.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "there is nothing to test"),
        (["--fixture", "none.json"], 3, "none.json: there is no such fixture"),
        (["--fixture-dir", "none"], 3, "none: is not a folder"),
        (["--fixture-dir", "."], 3, "has no fixture"),
        (["--fixture", "none.json", "--expect", "denied"], 2, "Invalid value for '--expect'"),
    ],
)
def test_what_is_missing_is_said(
    nacre: Nacre,
    policy: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    tested = nacre("policy", "test", "--policy", policy, *arguments)

    assert (tested.code, tested.out) == (code, "")
    assert said in tested.err


def test_a_policy_that_is_wrong_is_named_with_the_rule(
    nacre: Nacre, fixtures: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(POLICY.replace("args.path", "arg.path", 1))

    tested = nacre(
        "policy", "test", "--policy", str(wrong), "--fixture", write(fixtures, "a", SHELL)
    )

    assert tested.code == 2
    assert tested.err.startswith(f"error: {wrong}: rule 2: unknown key 'arg'")
    assert "did you mean 'args'?" in tested.err


@pytest.mark.requirement("004.rule.file")
def test_without_the_option_the_users_own_policy_is_meant(
    nacre: Nacre, fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixture = write(fixtures, "a", PROJECT)
    missing = nacre("policy", "test", "--fixture", fixture)
    own = tmp_path / "home" / ".config" / "nacre" / "policy.toml"
    own.parent.mkdir(parents=True)
    own.write_text(POLICY)
    found = nacre("policy", "test", "--fixture", fixture)
    other = tmp_path / "other.toml"
    other.write_text('[[rule]]\naction = "deny"\ntool = "*"\n')
    monkeypatch.setenv("NACRE_POLICY", str(other))
    named = nacre("policy", "test", "--fixture", fixture)

    assert missing.code == 3
    assert missing.err.endswith("write one with 'nacre policy init', or give --policy\n")
    assert found.out == f"-     {fixture}: allow (rule 3)\n"
    assert named.out == f"-     {fixture}: deny (rule 1)\n"


def test_other_methods_are_decided_as_a_proxy_does(
    nacre: Nacre, tmp_path: Path, fixtures: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rule]]\naction = "allow"\nresource = "file:///srv/**"\n')
    written = {
        "inside": {"method": "resources/read", "params": {"uri": "file:///srv/a"}},
        "outside": {"method": "resources/read", "params": {"uri": "file:///etc/passwd"}},
        "near": {"method": "Resources/Read", "params": {"uri": "file:///srv/a"}},
        "ping": {"method": "ping"},
    }
    paths = [write(fixtures, name, fixture) for name, fixture in written.items()]

    tested = nacre(
        *("policy", "test", "--policy", str(policy), "--json"),
        *(part for path in paths for part in ("--fixture", path)),
    )

    decided = {Path(each["fixture"]).stem: each["decision"] for each in tested.json()}
    assert decided == {"inside": "allow", "outside": "deny", "near": "deny", "ping": "allow"}


def test_a_fixture_says_where_its_server_runs(nacre: Nacre, tmp_path: Path, fixtures: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "~/notes/**"\n')
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "link").symlink_to("/etc")
    home = {"home": str(tmp_path)}
    inside = call("read", f"{tmp_path}/notes/a.md", where=home, expected="allow")
    linked = call("read", f"{tmp_path}/notes/link/passwd", where=home | {"is_local": True})

    tested = nacre(
        *("policy", "test", "--policy", str(policy)),
        *("--fixture", write(fixtures, "inside", inside)),
        *("--fixture", write(fixtures, "linked", linked | {"expected": "deny"})),
    )

    assert tested.code == 0, tested.out


def test_a_build_server_reads_the_report(
    nacre: Nacre, policy: str, fixtures: Path, tmp_path: Path
) -> None:
    write(fixtures, "right", KEY)
    write(fixtures, "wrong\x1b", PROJECT | {"expected": "deny"})
    write(fixtures, 'w"<&', SHELL)
    report = tmp_path / "report.xml"

    tested = nacre(
        *("policy", "test", "--policy", policy),
        *("--fixture-dir", str(fixtures), "--junit", str(report)),
    )

    [suite] = Xml.parse(report).getroot()
    assert tested.code == 1
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
    }
    assert [(case.get("name"), [part.tag for part in case]) for case in suite] == [
        ("right", ["system-out"]),
        ('w"<&', ["system-out"]),
        ("wrong\\u001b", ["failure"]),
    ]
    [failure] = suite[2]
    assert failure.get("message") == "expected deny, got allow (rule 3)"


def test_a_report_that_cannot_be_written_is_an_error(
    nacre: Nacre, policy: str, fixtures: Path, tmp_path: Path
) -> None:
    path = write(fixtures, "a", SHELL)

    tested = nacre(
        *("policy", "test", "--policy", policy, "--fixture", path),
        *("--junit", str(tmp_path / "none" / "report.xml")),
    )

    assert (tested.code, "choose another place for --junit" in tested.err) == (2, True)


def test_programs_read_the_results_as_json(nacre: Nacre, policy: str, fixtures: Path) -> None:
    path = write(fixtures, "a", SHELL | {"expected": "allow"})

    tested = nacre("policy", "test", "--policy", policy, "--fixture", path, "--json")

    [result] = json.loads(tested.out)
    assert tested.code == 1
    assert len(result.pop("policy")) == 64
    assert result == {
        "fixture": path,
        "decision": "deny",
        "expected": "allow",
        "as_expected": False,
        "rule": 1,
        "description": "Block all shell execution",
        "reason": "rule 1: Block all shell execution",
    }
