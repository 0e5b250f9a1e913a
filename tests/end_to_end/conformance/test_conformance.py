"""The official suite against both faces as production wires them, at both eras' wires.

A dead server passes some scenarios, and a scenario may lose its checks in a new release of the
suite; so the number of checks is compared as well as their results.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.end_to_end.conformance.production import FACES
from tests.end_to_end.conformance.suite import HERE, baseline, required, run_suite

pytestmark = [
    pytest.mark.slow,
    # Lambda ends its environments without a word; nobody closes their connections.
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]

RUNS: list[dict[str, Any]] = yaml.safe_load((HERE / "expected.yml").read_text())
every_run = pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run['face']}-{run['revision']}")


@every_run
def test_a_face_passes_what_a_revision_requires(run: dict[str, Any], tmp_path: Path) -> None:
    face, revision = run["face"], run["revision"]
    known = baseline(face, revision)
    scenarios = required(revision)

    with FACES[face]() as url:
        report = run_suite(url, revision, known, tmp_path)

    failed = report.failed(scenarios)
    tasks = report.counted(frozenset(name for name in report.checks if name.startswith("tasks-")))
    # The suite itself compares every scenario, required or not, with the baseline.
    assert report.status == 0, report.summary
    assert failed == scenarios & set(yaml.safe_load(known.read_text())["server"])
    assert run == {
        "face": face,
        "revision": revision,
        "required": len(scenarios),
        "passed": len(scenarios - failed),
        "checks": report.counted(scenarios),
        **({"tasks": tasks} if tasks else {}),
    }


@every_run
def test_a_known_failure_has_its_reason(run: dict[str, Any]) -> None:
    lines = baseline(run["face"], run["revision"]).read_text().splitlines()
    entries = [line for line in lines if line.strip().startswith("- ")]

    assert (entries == []) == (run["checks"].get("WARNING") is None)
    assert [line for line in entries if len(line.partition(" # ")[2].split()) < 3] == []
