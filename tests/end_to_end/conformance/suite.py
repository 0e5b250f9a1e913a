"""The official conformance suite: run it, and read what it found."""

import json
import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
NODE = ROOT / ".tools" / "node" / "node_modules"
PACKAGE = NODE / "@modelcontextprotocol" / "conformance"
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Report:
    """What one run did, by scenario."""

    status: int
    printed: str
    checks: dict[str, list[dict[str, Any]]]

    @property
    def summary(self) -> str:
        """What the run said at its end."""
        return self.printed.partition("=== SUMMARY ===")[2] or self.printed

    def failed(self, scenarios: frozenset[str]) -> set[str]:
        """Return which of these scenarios failed, or did not run."""
        return {
            name
            for name in scenarios
            if name not in self.checks
            or any(check["status"] == "FAILURE" for check in self.checks[name])
        }

    def counted(self, scenarios: frozenset[str]) -> dict[str, int]:
        """Return how many checks of these scenarios ended how."""
        return dict(
            Counter(check["status"] for name in scenarios for check in self.checks.get(name, ()))
        )


def required(revision: str) -> frozenset[str]:
    """Return the scenarios that a revision requires of a server."""
    listed = yaml.safe_load((PACKAGE / "requirements" / f"{revision}.yaml").read_text())
    return frozenset(listed["server"])


def baseline(face: str, revision: str) -> Path:
    """Return the file that lists what is known to fail, each with its reason."""
    return HERE / f"baseline-{revision}-{face}.yml"


def run_suite(url: str, revision: str, known: Path, folder: Path) -> Report:
    """Run every scenario of a revision, required or not, against a server."""
    run = subprocess.run(
        [
            NODE / ".bin" / "conformance",
            *("server", "--url", url, "--requirements", revision),
            *("--expected-failures", known, "--output-dir", folder),
        ],
        env={**os.environ, "PATH": f"{NODE / '.bin'}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    checks = {}
    for result in folder.glob("server-*/checks.json"):
        name = re.fullmatch(r"server-(.+)-\d{4}-\d{2}-\d{2}T.+", result.parent.name)
        assert name is not None, result
        checks[name[1]] = json.loads(result.read_text())
    return Report(run.returncode, run.stdout, checks)
