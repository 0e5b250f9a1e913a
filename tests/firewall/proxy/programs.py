"""Programs that the tests of proxies start: the proxy itself, and servers of bad manners."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[3]
NACRE = [sys.executable, "-m", "nacre.cli"]


def proxied(command: Sequence[str], folder: Path, *options: str) -> list[str]:
    """Return the command line of a proxy with its data and its policy in the folder."""
    kept = ["--data-dir", str(folder / "data"), "--policy", str(folder / "policy.toml")]
    return [*NACRE, "proxy", *kept, *options, "--", *command]


def environment() -> dict[str, str]:
    """Return the environment of a program of ours, which finds the package under test by itself."""
    return {name: os.environ[name] for name in os.environ if name != "PYTHONPATH"}
