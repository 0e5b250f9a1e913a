import json
import subprocess

import pytest

from infra.tools import programs
from tests.infra.declared import PATH

pytestmark = pytest.mark.slow

OPTIONS = ["--framework", "cloudformation", "--skip-download", "--output", "json"]


def test_checkov_finds_nothing_that_is_not_explained() -> None:
    done = subprocess.run(
        [str(programs("checkov") / "checkov"), "-f", str(PATH), *OPTIONS],
        capture_output=True,
        text=True,
        check=False,
    )
    report = json.loads(done.stdout)
    failed = [(each["check_id"], each["resource"]) for each in report["results"]["failed_checks"]]
    reasons = [
        each["check_result"]["suppress_comment"] for each in report["results"]["skipped_checks"]
    ]

    assert failed == []
    assert report["summary"]["passed"] > 90
    assert all(len(reason) > 30 for reason in reasons)
