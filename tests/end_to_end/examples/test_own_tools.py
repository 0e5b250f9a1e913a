"""The example prints what its page shows, and its package announces what nacre looks for."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nacre.adapters.tool_servers import GROUP, announced

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "own-tools"


@pytest.mark.slow
def test_the_example_prints_what_its_page_shows() -> None:
    shown = (EXAMPLE / "README.md").read_text(encoding="utf-8").split("```")[1]
    _kind, _command, *expected = shown.strip().splitlines()

    run = subprocess.run(
        [sys.executable, str(EXAMPLE / "call_them.py")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "shared")},
        timeout=60,
    )

    assert run.stdout.splitlines() == expected


def test_an_installed_package_is_found_by_what_it_announces(tmp_path: Path) -> None:
    entries = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]
    info = tmp_path / "my_tools-1.0.0.dist-info"
    info.mkdir()
    lines = [f"{name} = {value}" for name, value in entries[GROUP].items()]
    others = ["[console_scripts]", "x = y:z", "", f"[{GROUP}]", *lines, "", "[other]", "a = b:c"]
    (info / "entry_points.txt").write_text("\n".join(others))

    assert list(announced([str(tmp_path), str(tmp_path / "none")])) == ["my_tools:server"]
