"""The wheels that a release publishes, built once for all tests that install them."""

import subprocess
from pathlib import Path

import pytest

from infra.layers.build import find_uv

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel of the package and those of its data."""
    folder = tmp_path_factory.mktemp("wheels")
    build = [find_uv(), "build", "--quiet", "--wheel", "--all-packages", "--out-dir"]
    subprocess.run([*build, folder, ROOT], check=True)
    return folder
