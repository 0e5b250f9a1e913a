"""What the policy commands load: builds run them often, and proxies wait for the evaluator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HEAVY = {"boto3", "fastapi", "mcp", "numpy", "openai", "pydantic", "qdrant_client", "uvicorn"}
SCRIPT = """
import json, sys
from nacre.cli.commands import run_commands
code = run_commands(json.loads(sys.argv[1]))
print("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def loaded(*arguments: str) -> set[str]:
    """Return the modules that a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(arguments)],
        env={"PATH": os.defpath, "PYTHONPATH": str(ROOT / "shared"), "HOME": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules)


POLICY = ("--policy", "examples/policy/policy.toml")


@pytest.mark.parametrize(
    "arguments",
    [
        ("test", *POLICY, "--fixture-dir", "examples/policy/fixtures"),
        ("lint", *POLICY),
        ("explain", *POLICY, "filesystem_read", "path=/etc/passwd"),
        ("prove", *POLICY, "--never", "shell_execute"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_over_a_file_load_neither_stores_nor_servers(arguments: tuple[str, ...]) -> None:
    modules = loaded("policy", *arguments)

    assert not modules & HEAVY
    ours = ("nacre.adapters", "nacre.being", "nacre.sdk", "nacre.text")
    assert not [name for name in modules if name.startswith(ours)]


def test_the_list_of_commands_loads_none_of_them() -> None:
    modules = loaded("policy", "--help")

    ours = {name for name in modules if name.startswith(("nacre.firewall", "nacre.cli.policy"))}
    assert ours == {"nacre.cli.policy", "nacre.cli.policy.policy"}


def test_every_command_is_where_the_list_says() -> None:
    from click import Context

    from nacre.cli.policy.policy import MEMBERS, policy

    context = Context(policy)
    found = {name: policy.get_command(context, name) for name in MEMBERS}

    assert all(found.values())
    assert [name for name, each in found.items() if each and each.name != name] == []
    assert policy.get_command(context, "none") is None
