"""The example's policy passes its fixtures, and each rule is held by one of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "policy"


def outcome_of(policy: Path) -> "subprocess.CompletedProcess[str]":
    command = [
        "policy",
        "test",
        "--policy",
        str(policy),
        "--fixture-dir",
        "examples/policy/fixtures",
    ]
    return subprocess.run(
        [sys.executable, "-m", "nacre.cli", *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "shared")},
    )


def test_the_example_prints_what_its_page_shows() -> None:
    shown = (EXAMPLE / "README.md").read_text(encoding="utf-8").split("```")[1]
    _kind, _command, *expected = shown.strip().splitlines()

    run = outcome_of(EXAMPLE / "policy.toml")

    assert (run.returncode, [*run.stdout.splitlines(), run.stderr.strip()]) == (0, expected)


@pytest.mark.parametrize("rule", range(1, 5))
def test_a_rule_that_is_taken_out_is_missed(tmp_path: Path, rule: int) -> None:
    head, *rules = re.split(r"(?m)^(?=\[\[rule\]\])", (EXAMPLE / "policy.toml").read_text())
    del rules[rule - 1]
    # Rules are for what they allow: without the one that denies, all would still be denied.
    allow = '[[rule]]\naction = "allow"\ntool = "*"\n' if rule == 1 else ""
    changed = tmp_path / "policy.toml"
    changed.write_text(head + "".join(rules) + allow)

    assert outcome_of(changed).returncode == 1


def test_every_fixture_expects_something() -> None:
    texts = [path.read_text() for path in (EXAMPLE / "fixtures").iterdir()]

    assert len(texts) == 6
    assert all('"expected": ' in text for text in texts)
