"""Profiles on the command line: tokens, clients, explanations, lint, proofs and doctor."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Nacre

POLICY = """
[profile.work]
servers = ["issues"]
tools = ["search*", "read_issue"]

[[profile.work.rule]]
action = "allow"
tool = "search*"

[[rule]]
action = "prompt"
tool = "**"
"""


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    monkeypatch.setenv("NACRE_POLICY", str(path))
    return path


def test_a_token_is_bound_to_a_profile_that_the_policy_has(nacre: Nacre, policy: Path) -> None:
    nacre("being", "create", "Ann")
    free = nacre("token", "create", "--scope", "full", "--label", "script")
    before = nacre("token", "list")
    bound = nacre("token", "create", "--scope", "full", "--profile", "work")
    wrong = nacre("token", "create", "--scope", "full", "--profile", "wrok")
    listed = nacre("token", "list")

    assert free.code == bound.code == 0
    assert "full token for Ann in the profile work, until" in bound.err
    assert wrong.code == 3
    assert f"the policy ({policy}) has no profile 'wrok'\nhint: it has work" in wrong.err
    assert "PROFILE" not in before.out
    assert [row.split()[3] for row in listed.out.splitlines()] == ["PROFILE", "-", "work"]
    assert [each["profile"] for each in nacre("token", "list", "--json").json()] == ["", "work"]


@pytest.mark.usefixtures("policy")
def test_a_policy_explains_what_a_caller_in_a_profile_may_do(nacre: Nacre) -> None:
    def explain(*call: str) -> str:
        return nacre("policy", "explain", *call).out.splitlines()[0]

    inside = ("--server", "issues", "--profile", "work")

    assert explain("search_all", *inside) == "allow: Allowed by policy (profile work rule 1)"
    assert (
        explain("search_all", "--server", "issues") == "prompt: Approval needed by policy (rule 1)"
    )
    assert explain("read_issue", *inside) == "prompt: Approval needed by policy (rule 1)"
    outside = "deny: Blocked by policy (it is not in the profile)"
    assert explain("close_issue", *inside) == outside
    assert explain("search_all", "--server", "mail", "--profile", "work") == outside
    unknown = nacre("policy", "explain", "search", "--profile", "home")
    assert (unknown.code, "has no profile 'home'" in unknown.err) == (3, True)


def test_lint_finds_slips_in_profiles(nacre: Nacre, policy: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps({"issues": ["search_all", "read_issue"], "mail": ["send"]}))
    clean = nacre("policy", "lint", "--tools", str(tools))
    policy.write_text(
        POLICY.replace('"read_issue"]', '"reed_issue"]')
        + '[[profile.work.rule]]\naction = "allow"\ntool = "send"\nserver = "mail"\n'
        + '[profile.home]\nservers = ["issue"]\n'
    )
    found = nacre("policy", "lint", "--tools", str(tools))

    assert (clean.code, clean.out) == (0, "")
    assert found.out.splitlines() == [
        "profile work: tools: no tool of its servers matches 'reed_issue' "
        "(see 'nacre policy coverage')",
        "profile work rule 2: it is about a server that is not in the profile "
        "(name a server of the profile, or leave the rule out)",
        "profile home: no server 'issue' has listed its tools (did you mean 'issues'?)",
    ]


@pytest.mark.usefixtures("policy")
def test_a_proof_is_about_callers_in_profiles_too(nacre: Nacre) -> None:
    search = nacre("policy", "prove", "--never", "search*", "--json")
    send = nacre("policy", "prove", "--never", "send", "--json")
    other = nacre("policy", "prove", "--never", "search*", "--server", "mail", "--json")

    assert json.loads(search.out)["reason"] == "profile work rule 1 allows such a call"
    assert json.loads(send.out)["holds"] is True
    assert json.loads(other.out)["holds"] is True


def test_doctor_names_servers_and_tokens_of_profiles_that_are_not_there(
    nacre: Nacre, policy: Path
) -> None:
    nacre("being", "create", "Ann")
    nacre("token", "create", "--scope", "full", "--profile", "work")
    policy.write_text('[profile.home]\nservers = ["garden", "nacre"]\n')

    findings = nacre("doctor", "--json", "--port", "1").out
    found = [each for each in json.loads(findings) if each["check"] == "profiles of Ann"]

    assert [(each["state"], each["found"]) for each in found] == [
        ("warn", "a token is bound to the profile 'work', which the policy does not have"),
        ("fail", "the profile 'home' names 'garden', and there is no such server"),
    ]


@pytest.mark.usefixtures("policy")
def test_a_client_is_connected_to_a_profile(nacre: Nacre) -> None:
    home = Path.home()
    (home / ".claude.json").write_text("{}")
    nacre("being", "create", "Ann")

    wrong = nacre("connect", "claude-code", "--profile", "home")
    done = nacre("connect", "claude-code", "--profile", "work")
    nacre("connect", "codex", "--profile", "work", "--url", "https://x.example/mcp")

    assert (wrong.code, "has no profile 'home'" in wrong.err) == (3, True)
    assert done.code == 0
    entry = json.loads((home / ".claude.json").read_text())["mcpServers"]["nacre"]
    assert entry["url"].endswith("/mcp/work")
    assert '"https://x.example/mcp/work"' in (home / ".codex" / "config.toml").read_text()


@pytest.mark.security
@pytest.mark.usefixtures("policy")
@pytest.mark.parametrize(
    "command",
    [
        ("token", "create", "--scope", "full"),
        ("connect", "claude-code"),
        ("policy", "explain", "search_all"),
    ],
)
def test_a_profile_without_a_name_does_not_mean_everything(
    nacre: Nacre, command: tuple[str, ...]
) -> None:
    """A script with a variable that is not set would hand out a token for everything."""
    (Path.home() / ".claude.json").write_text("{}")
    nacre("being", "create", "Ann")

    refused = nacre(*command, "--profile", "")

    assert (refused.code, refused.out) == (2, "")
    assert "--profile names no profile; leave it out for everything" in refused.err.replace(
        "\nhint: ", "; "
    )
    assert (Path.home() / ".claude.json").read_text() == "{}"
    assert nacre("token", "list", "--json").json() == []


@pytest.mark.security
@pytest.mark.usefixtures("policy")
def test_hooks_are_not_added_for_a_profile(nacre: Nacre) -> None:
    (Path.home() / ".claude.json").write_text("{}")
    nacre("being", "create", "Ann")

    refused = nacre("connect", "claude-code", "--profile", "work", "--hooks")

    assert "hooks recall from and capture into the whole Being" in refused.err
    assert (Path.home() / ".claude.json").read_text() == "{}"
