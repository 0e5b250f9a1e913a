"""`nacre policy lint`, `explain` and `prove`."""

import json
import sys
from pathlib import Path

import pytest

from nacre.firewall.policies.loader import read_policy
from nacre.firewall.rules.rule import Subject
from tests.cli.conftest import Nacre

POLICY = """
[[rule]]
action = "deny"
tool = "*"
args."*" = "**/.ssh/**"

[[rule]]
action = "allow"
tool = "read"
args.path = "/srv/**"

[[rule]]
action = "allow"
tool = "count"
args.n = 5

[[rule]]
action = "deny"
method = "**"
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path / "policy.toml"


def test_nothing_wrong_is_said_and_succeeds(nacre: Nacre, policy: Path) -> None:
    linted = nacre("policy", "lint", "--policy", str(policy))

    assert (linted.code, linted.out, linted.err) == (
        0,
        "",
        "Nothing looks wrong.\n"
        "Assumed: no server has a declared base, so relative paths are asked about.\n",
    )


def test_what_looks_wrong_is_said_with_its_rule(nacre: Nacre, policy: Path) -> None:
    policy.write_text(POLICY + '[[rule]]\naction = "deny"\ntool = "read"\nargs.path = "/srv/x"\n')

    linted = nacre("policy", "lint", "--policy", str(policy))
    [finding] = json.loads(nacre("policy", "lint", "--policy", str(policy), "--json").out)

    assert linted.code == 1
    assert linted.out.startswith("rule 5: ")
    assert (finding["rule"], finding["kind"]) == (5, "deny-after-allow")


def test_limits_are_linted_and_explained(nacre: Nacre, policy: Path) -> None:
    with policy.open("a") as file:
        file.write('[[limit]]\ntool = "read"\ncalls = 9\nper = "hour"\n')
        file.write('[[limit]]\ntool = "write"\ncalls = 9\nper = "hour"\n')

    [finding] = json.loads(nacre("policy", "lint", "--policy", str(policy), "--json").out)
    command = ["policy", "explain", "--policy", str(policy), "read", "path=/srv/a"]

    assert (finding["origin"], finding["kind"]) == ("limit 2", "counts-nothing")
    assert nacre(*command).out.endswith(
        "  limit 1 counts it: 9 calls an hour; further ones are denied\n"
    )
    assert nacre(*command, "--json").json()["limits"] == [
        "limit 1 counts it: 9 calls an hour; further ones are denied"
    ]


def test_a_policy_that_does_not_load_is_not_linted(nacre: Nacre, policy: Path) -> None:
    policy.write_text('[[rule]]\naction = "deny"\n')

    linted = nacre("policy", "lint", "--policy", str(policy))

    assert (linted.code, "rule 1: has no tool" in linted.err) == (2, True)


def test_a_decision_is_explained(nacre: Nacre, policy: Path) -> None:
    command = ["policy", "explain", "--policy", str(policy), "read"]
    told = nacre(*command, "path=/srv/%2e%2e/etc/passwd")
    allowed = nacre(*command, "path=/srv/a", "--json").json()

    assert told.code == 0
    assert told.out.splitlines()[0] == "deny: Blocked by policy (no rule matches)"
    assert "can be read as '/etc/passwd', which does not match" in told.out
    assert (allowed["decision"], allowed["rule"]) == ("allow", 2)
    assert [(step["origin"], step["matched"]) for step in allowed["steps"]] == [
        ("rule 1", False),
        ("rule 2", True),
    ]


@pytest.mark.parametrize(
    ("word", "decision"),
    [("n:=5", "allow"), ("n=5", "deny"), ("n:=[5]", "allow"), ("n:=5.0", "deny")],
)
def test_an_argument_may_be_any_json(nacre: Nacre, policy: Path, word: str, decision: str) -> None:
    told = nacre("policy", "explain", "--policy", str(policy), "count", word, "--json").json()

    assert told["decision"] == decision


def test_a_fixture_is_explained_too(nacre: Nacre, policy: Path, tmp_path: Path) -> None:
    fixture = tmp_path / "call.json"
    fixture.write_text('{"method": "Tools/call", "params": {"name": "read"}}')

    told = nacre("policy", "explain", "--policy", str(policy), "--fixture", str(fixture))

    assert told.out == "deny: Refused: Method not found: did you mean 'tools/call'?\n"


@pytest.mark.parametrize(
    "arguments", [[], ["read", "--fixture", "x.json"], ["read", "path"], ["read", "=x"]]
)
def test_what_is_no_call_is_said(nacre: Nacre, policy: Path, arguments: list[str]) -> None:
    assert nacre("policy", "explain", "--policy", str(policy), *arguments).code == 2


@pytest.mark.parametrize("word", ["n:={", 'n:={"a": 1, "a": 2}', "n:=NaN"])
def test_json_that_is_none_is_said(nacre: Nacre, policy: Path, word: str) -> None:
    told = nacre("policy", "explain", "--policy", str(policy), "count", word)

    assert (told.code, told.err.startswith(f"error: {word}: the value")) == (2, True)


def test_an_argument_stands_once(nacre: Nacre, policy: Path) -> None:
    assert nacre("policy", "explain", "--policy", str(policy), "count", "n=1", "n=2").code == 2


def test_what_can_never_be_allowed_is_proved(nacre: Nacre, policy: Path) -> None:
    proved = nacre("policy", "prove", "--policy", str(policy), "--never", "read", "path=/etc/**")

    assert proved.code == 0
    assert proved.out.startswith("proved: ")


def test_what_can_be_allowed_is_shown_as_a_fixture_that_fails(
    nacre: Nacre, policy: Path, tmp_path: Path
) -> None:
    command = ["policy", "prove", "--policy", str(policy), "--never", "re*", "path=/srv/**"]
    told = nacre(*command)
    as_json = nacre(*command, "--json")
    example = json.loads(told.out.partition("\n")[2])
    (tmp_path / "example.json").write_text(json.dumps(example))

    tested = nacre(
        *("policy", "test", "--policy", str(policy)),
        *("--fixture", str(tmp_path / "example.json")),
    )

    assert (told.code, as_json.code, tested.code) == (1, 1, 1)
    assert told.out.startswith("not so: rule 2 ")
    assert json.loads(as_json.out)["counterexample"] == example
    subject = Subject("tool", "read", example["server"], example["params"]["arguments"])
    assert read_policy(policy).decide(subject).action == "allow"


@pytest.mark.parametrize(
    "words", [[""], ["read", "path="], ["read", "--server", ""], ["tools/list"]]
)
def test_nothing_is_proved_about_calls_that_rules_do_not_decide(
    nacre: Nacre, policy: Path, words: list[str]
) -> None:
    told = nacre("policy", "prove", "--policy", str(policy), "--never", *words)

    assert (told.code, told.out) == (2, "")


def test_a_proof_names_what_it_is_about(nacre: Nacre, policy: Path) -> None:
    assert nacre("policy", "prove", "--policy", str(policy)).code == 2
    assert nacre("policy", "prove", "--policy", str(policy), "--never", "x", "path").code == 2


# ------------------------------------------------------------------ the policy in force


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["explain", "read_file", "--server", "files"], "prompt: Your policy has no rule"),
        (["explain", "recall", "--server", "nacre"], "allow: A Being's own tools"),
        (["prove", "--never", "recall", "--server", "nacre"], "not so: "),
        (["coverage"], "SERVER"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_without_a_file_the_policy_in_force_is_looked_at(
    nacre: Nacre, folder: Path, command: list[str], said: str
) -> None:
    looked = nacre("policy", *command)

    assert looked.out.startswith(said)
    assert looked.err.startswith("Policy: the built-in one, because you have not written one.")
    assert not folder.exists()  # looking makes nothing


def test_a_policy_that_was_pushed_is_looked_at(nacre: Nacre, policy: Path) -> None:
    nacre("policy", "push", str(policy))

    explained = nacre("policy", "explain", "read", "path=/srv/a")

    assert explained.out.splitlines()[0] == "allow: Allowed by policy (rule 2)"
    assert explained.err.startswith("Policy: pushed version 1.")


def test_rules_of_another_server_are_said_to_be_skipped(nacre: Nacre, policy: Path) -> None:
    policy.write_text(
        '[[rule]]\naction = "allow"\ntool = "re*"\nserver = "files"\n'
        '[[rule]]\naction = "allow"\ntool = "mcp__disk__read"\n'
        '[[rule]]\naction = "allow"\ntool = "write"\nserver = "files"\n'
        '[[rule]]\naction = "deny"\ntool = "read"\n'
        '[[rule]]\naction = "deny"\ntool = "*"\nserver = "late"\n'
    )

    told = nacre("policy", "explain", "--policy", str(policy), "--server", "file", "read")
    facts = nacre("policy", "explain", "--policy", str(policy), "--json", "read").json()
    proved = nacre("policy", "prove", "--policy", str(policy), "--server", "x", "--never", "read")

    skipped = [line.strip() for line in told.out.splitlines() if "skipped" in line]
    assert skipped == [
        "rule 1 (allow) is skipped: it is about the server 'files'",
        "rule 2 (allow) is skipped: it is about the server 'disk'",
    ]
    assert [(each["rule"], each["server"]) for each in facts["skipped"]] == [
        (1, "files"),
        (2, "disk"),
    ]
    assert proved.code == 0
    assert "rule 1 (allow) is skipped" in proved.err


def test_coverage_says_that_a_rules_server_is_not_known(nacre: Nacre, policy: Path) -> None:
    policy.write_text('[[rule]]\naction = "allow"\ntool = "*"\nserver = "fiels"\n')

    covered = nacre("policy", "coverage", "--policy", str(policy))

    assert "rule 1 matches no known tool: its server 'fiels' is not known here" in covered.err


def test_a_build_never_checks_another_policy_than_its_own(nacre: Nacre) -> None:
    assert nacre("policy", "lint").code == 3


def test_rules_are_compared_with_the_tools_in_a_file(
    nacre: Nacre, policy: Path, tmp_path: Path
) -> None:
    schema = {"type": "object", "properties": {"path": {}, "other_path": {}}}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps({"fs": [{"name": "read", "inputSchema": schema}, "count"]}))

    linted = nacre("policy", "lint", "--policy", str(policy), "--tools", str(tools))

    assert linted.code == 1
    assert "'read' of 'fs' takes other_path too" in linted.out
    assert 'add only_args = ["path"]' in linted.out

    tools.write_text('{"fs": [5]}')
    refused = nacre("policy", "lint", "--policy", str(policy), "--tools", str(tools))
    assert (refused.code, "must be an object of lists" in refused.err) == (2, True)


FILES = """
[[rule]]
action = "allow"
tool = "read_*"
server = "files"
args.path = "/srv/projects/**"
"""


def test_the_bases_of_configured_servers_are_known(
    nacre: Nacre, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "policy.toml").write_text(FILES)
    given = ("--policy", str(tmp_path / "policy.toml"))
    call = ("--server", "files", "read_file", "path=projects/notes.md")
    unknown = nacre("policy", "explain", *given, *call)
    assert unknown.out.startswith("prompt: ")
    assert not folder.exists()

    assert nacre("server", "add", "files", "--base", "/srv", "--", "some-server").code == 0
    assert nacre("server", "add", "other", "--", "some-server").code == 0
    explained = nacre("policy", "explain", *given, *call)
    assert explained.out.startswith("allow: ")
    assert "Relative paths begin at: /srv" in explained.out
    (tmp_path / "call.json").write_text(
        json.dumps(
            {
                "method": "tools/call",
                "params": {"name": "read_file", "arguments": {"path": "projects/notes.md"}},
                "server": "files",
            }
        )
    )
    fixture = nacre("policy", "explain", *given, "--fixture", str(tmp_path / "call.json"))
    assert fixture.out == explained.out
    said = nacre("policy", "explain", *given, "--base", "/elsewhere", *call)
    assert said.out.startswith("deny: ")
    linted = nacre("policy", "lint", *given)
    assert "relative paths of files begin at /srv; those of servers without" in linted.err

    shape = ("--never", "read_*", "path=projects/notes.md")
    assert nacre("policy", "prove", *given, *shape, "--server", "files").code == 1
    assert nacre("policy", "prove", *given, *shape).code == 1
    assert nacre("policy", "prove", *given, *shape, "--server", "other").code == 0

    entry = {"mcpServers": {"filed": {"command": "some-server", "base": "/srv"}}}
    (tmp_path / "servers.json").write_text(json.dumps(entry))
    monkeypatch.setenv("NACRE_SERVERS", str(tmp_path / "servers.json"))
    (tmp_path / "policy.toml").write_text(FILES.replace('"files"', '"filed"'))
    assert nacre("policy", "explain", *given, "--server", "filed", *call[2:]).out[:5] == "allow"


def test_the_bases_of_wrapped_servers_are_known(
    nacre: Nacre, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    cursor = tmp_path / "home" / ".cursor" / "mcp.json"
    cursor.parent.mkdir(parents=True)
    cursor.write_text('{"mcpServers": {"files": {"command": "some-server"}}}')
    (tmp_path / "policy.toml").write_text(FILES)
    command = ("policy", "explain", "--policy", str(tmp_path / "policy.toml"))
    call = ("--server", "files", "read_file", "path=projects/notes.md")

    assert nacre("wrap", "files").code == 0
    assert nacre(*command, *call).out.startswith("prompt: ")
    assert nacre("wrap", "files", "--base", "/srv").code == 0
    assert nacre(*command, *call).out.startswith("allow: ")
    assert cursor.read_text().count("--base") == 1


def test_the_rights_of_a_process_are_explained_with_their_rules(
    nacre: Nacre, policy: Path, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    policy.write_text(
        f'[[rule]]\naction = "allow"\ntool = "read_*"\nserver = "files"\n'
        f'args.path = "{notes}/*.md"\n[[rule]]\naction = "allow"\ntool = "fetch"\n'
        f'args.url = "https://127.0.0.1:8443/**"\n'
    )
    command = ["policy", "explain", "--kernel", "--policy", str(policy), "--server", "files"]

    explained = nacre(*command)
    whole = nacre(*command, "--json", "--", sys.executable, "-I", "server.py").json()
    elsewhere = nacre(*command[:-1], "other")

    assert explained.code == 0
    assert explained.out.splitlines()[:2] == [
        f"read    {notes}  (rule 1: args.path)",
        "connect TCP 8443  (rule 2: args.url)",
    ]
    assert "every host can be reached at an allowed port" in explained.out
    assert f"grants {notes} with all below it" in explained.out
    reasons = {root["path"]: root["reason"] for root in whole["roots"]}
    assert reasons[str(notes)] == "rule 1: args.path"
    assert reasons[str(Path(sys.executable).resolve())].startswith("p")
    assert str(notes) not in elsewhere.out


def test_the_rights_of_a_process_need_a_server(nacre: Nacre, policy: Path) -> None:
    refused = nacre("policy", "explain", "--kernel", "--policy", str(policy))

    assert (refused.code, "name it by --server" in refused.err) == (2, True)
