import os
import re
import subprocess
import sys
from pathlib import Path

import click

import nacre
from nacre.cli.commands import commands

ROOT = Path(__file__).parents[2]


def test_the_version_is_the_newest_in_the_changelog() -> None:
    headings = re.findall(
        r"^## \[(\d[^\]]*)\] - \d{4}-\d{2}-\d{2}$",
        (ROOT / "CHANGELOG.md").read_text(),
        re.MULTILINE,
    )

    assert headings[0] == nacre.__version__


def test_every_command_that_is_new_is_told() -> None:
    told = " ".join((ROOT / "CHANGELOG.md").read_text().split())
    names = {word for code in re.findall(r"`([^`]+)`", told) for word in code.split()}

    assert set(commands.list_commands(click.Context(commands))) - names == set()


def test_the_hooks_before_a_commit_are_valid(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-config", ".pre-commit-config.yaml"],
        cwd=ROOT,
        env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path)},  # a builder's own may not be there
        check=True,
    )
