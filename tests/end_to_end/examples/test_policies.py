"""The five policies of the guide: their fixtures, and the servers that they are for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from nacre.firewall.analysis.fixtures import fixtures_in, read_fixture
from nacre.firewall.analysis.lint import lint
from nacre.firewall.analysis.prove import Shape, prove
from nacre.firewall.analysis.sample_call import decide
from nacre.firewall.policies.loader import read_policy
from nacre.firewall.rules.arguments.arguments import JsonNumber, number
from nacre.firewall.rules.rule import ArgumentTest
from tests.scaffolding.third_party import SERVERS

FOLDER = Path(__file__).parents[3] / "examples" / "policies"
NAMES = ("email", "files", "github", "postgres", "shell")


def tools_of(name: str) -> dict[str, list[dict[str, Any]]]:
    tools: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / name / "tools.json").read_bytes())
    return tools


@pytest.mark.parametrize("name", NAMES)
def test_each_policy_decides_its_fixtures_as_they_expect(name: str) -> None:
    policy = read_policy(FOLDER / name / "policy.toml")
    calls = [read_fixture(path) for path in fixtures_in(FOLDER / name / "fixtures")]

    assert [(call, decide(call, policy).action) for call in calls] == [
        (call, call.expected) for call in calls
    ]
    expected = [call.expected for call in calls]
    assert expected.count("allow") >= 2
    assert expected.count("deny") >= 5


@pytest.mark.parametrize("name", NAMES)
def test_nothing_looks_wrong_to_lint_beside_the_real_tools(name: str) -> None:
    assert lint(read_policy(FOLDER / name / "policy.toml"), tools_of(name)) == ()


@pytest.mark.parametrize("name", NAMES)
def test_the_fixtures_are_calls_that_the_real_server_takes(name: str) -> None:
    ((server, definitions),) = tools_of(name).items()
    schemas = {each["name"]: each["inputSchema"] for each in definitions}

    for path in fixtures_in(FOLDER / name / "fixtures"):
        call = read_fixture(path)
        assert call.server == server
        if call.method == "tools/call":
            jsonschema_rs.validate(schemas[call.name], _plain(call.params["arguments"]))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("files", Shape("read_*", tests=(ArgumentTest(("path",), ("/etc/**",)),))),
        ("files", Shape("read_*", tests=(ArgumentTest(("paths",), ("/etc/**",)),))),
        ("files", Shape("*", tests=(ArgumentTest(("*",), ("/home/user/.ssh/**",)),))),
        ("files", Shape("edit_file")),
        ("github", Shape("merge_pull_request")),
        ("github", Shape("push_files", tests=(ArgumentTest(("branch",), ("main",)),))),
        ("github", Shape("*", tests=(ArgumentTest(("repo",), ("payroll",)),))),
        ("shell", Shape("run_command", tests=(ArgumentTest(("stdin",), ("**",)),))),
        ("email", Shape("send_email", tests=(ArgumentTest(("attachments",), ("**",)),))),
        ("email", Shape("forward_email")),
        ("postgres", Shape("query", tests=(ArgumentTest(("other",), ("**",)),))),
    ],
)
def test_what_the_guide_promises_is_proved(name: str, shape: Shape) -> None:
    proof = prove(read_policy(FOLDER / name / "policy.toml"), shape)

    assert proof.holds, proof


@pytest.mark.slow
def test_the_real_server_of_files_serves_and_is_held_back(tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    (projects / "site" / ".git" / "hooks").mkdir(parents=True)
    (projects / "site" / "README.md").write_text("Read me\n")
    (tmp_path / "key").write_text("secret key\n")
    text = (FOLDER / "files" / "policy.toml").read_text()
    (tmp_path / "policy.toml").write_text(text.replace("/home/user/projects", str(projects)))
    server = SERVERS["filesystem"].command(tmp_path)
    calls = [
        ("read_text_file", {"path": f"{projects}/site/README.md"}, "Read me"),
        ("read_text_file", {"path": "projects/site/README.md"}, "Read me"),
        ("read_text_file", {"path": f"{tmp_path}/key"}, "Blocked by policy"),
        ("read_text_file", {"path": f"{projects}/../key"}, "Blocked by policy"),
        ("read_multiple_files", {"paths": [f"{projects}/site/README.md"]}, "Read me"),
        (
            "read_multiple_files",
            {"paths": [f"{projects}/site/README.md", f"{tmp_path}/key"]},
            "Blocked by policy",
        ),
        (
            "write_file",
            {"path": f"{projects}/site/.git/hooks/pre-commit", "content": "x"},
            "Keys, and what Git runs, stay as they are",
        ),
        ("directory_tree", {"path": str(projects)}, "Blocked by policy"),
    ]

    listed, *answers = _talk(
        [
            *(sys.executable, "-m", "nacre.cli", "proxy", "--name", "files"),
            *("--policy", str(tmp_path / "policy.toml"), "--data-dir", str(tmp_path / "data")),
            *("--base", str(tmp_path), "--", *server),
        ],
        [("tools/list", {})]
        + [("tools/call", {"name": name, "arguments": given}) for name, given, _ in calls],
    )

    names = {each["name"] for each in tools_of("files")["files"]}
    assert {each["name"] for each in listed["tools"]} <= names
    for answer, (name, given, said) in zip(answers, calls, strict=True):
        assert said in json.dumps(answer), (name, given, answer)
        assert "secret key" not in json.dumps(answer)


def _talk(command: list[str], requests: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the results of requests, one after the other."""
    opening = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        results = []
        for number, (method, params) in enumerate([("initialize", opening), *requests]):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(f"{json.dumps(message)}\n")
            process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if answer.get("id") == number:
                    results.append(answer["result"])
                    break
            if method == "initialize":
                initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
                process.stdin.write(f"{json.dumps(initialized)}\n")
        process.stdin.close()
        process.wait(timeout=30)
    return results[1:]


def _plain(value: Any) -> Any:
    """Return JSON with numbers for numbers; a fixture keeps the text of each."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return number(value) if isinstance(value, JsonNumber) else value
