"""bandit on all that is shipped or builds it; what it finds is explained here, by file."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from infra.tools import programs
from tests.end_to_end.attacks.rows import attack

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
# Of medium severity and more; ruff's S rules, each with a reason beside it, look at the rest.
EXPLAINED = {
    # Names of tables and columns are constants of the module; every value is bound.
    ("B608", "shared/nacre/adapters/sqlite/copy.py"): 1,
    ("B608", "shared/nacre/adapters/sqlite/queue.py"): 5,
    ("B608", "shared/nacre/adapters/sqlite/residue.py"): 1,
    ("B608", "shared/nacre/adapters/sqlite/table.py"): 6,
    # One of two names of tables, which the module itself writes.
    ("B608", "shared/nacre/cli/memory/transcript_files.py"): 1,
    # A container is reached from outside only.
    ("B104", "shared/nacre/cli/serve/container.py"): 1,
    # Addresses that the module itself writes, on loopback or over HTTPS.
    ("B310", "infra/local_cloud.py"): 1,
    ("B310", "infra/qdrant_server.py"): 1,
    # The parent of a folder with a random name, and folders that no server gets.
    ("B108", "shared/nacre/firewall/confine/confined_server.py"): 1,
    ("B108", "shared/nacre/firewall/confine/runtimes.py"): 2,
    # Methods of dataclasses, from the names of their fields.
    ("B102", "shared/nacre/core/lazy_dataclasses.py"): 1,
    # Our own constants, to write the page of limits.
    ("B102", "infra/reference.py"): 1,
}


def findings(root: Path, *folders: str) -> Counter[tuple[str, str]]:
    """Return how often each rule is broken in each file."""
    command = [str(programs("review") / "bandit"), "-q", "-ll", "-f", "json", "-r", *folders]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    assert said["errors"] == []
    return Counter((each["test_id"], Path(each["filename"]).as_posix()) for each in said["results"])


@attack("N3")
def test_bandit_finds_nothing_that_is_not_explained() -> None:
    assert findings(ROOT, "shared", "functions", "infra") == EXPLAINED


def test_bandit_does_look(tmp_path: Path) -> None:
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / "it.py").write_text("eval(input())\n")

    assert findings(tmp_path, "planted") == {("B307", "planted/it.py"): 1}
