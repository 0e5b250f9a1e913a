"""Version 0.1.0 as it was released, out of the history of this clone."""

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.infra.declared import ROOT

# The last one before the changelog was opened for what came after.
COMMIT = "dba71b84905e271832cf87f6f94c23c53f95269f"


def first_version(folder: Path) -> Path:
    """Write the files of version 0.1.0 into a folder, or skip a test without its history."""
    done = subprocess.run(
        ["git", "archive", "--format=tar", COMMIT], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("this clone has no history of version 0.1.0")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    (folder / ".tools").symlink_to(ROOT / ".tools")  # uv, and what it has built already
    return folder
