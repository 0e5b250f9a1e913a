"""The laptop's store loads nothing but the standard library."""

import subprocess
import sys

import pytest

LIGHT = [
    "nacre.adapters.sqlite.table",
    "nacre.adapters.sqlite.queue",
    "nacre.adapters.files.blobs",
    "nacre.jobs.loop",
    "nacre.ports.items.schema",
]


@pytest.mark.parametrize("module", LIGHT)
def test_a_light_module_loads_only_the_standard_library(module: str) -> None:
    code = (
        f"import sys; before = set(sys.modules); import {module};"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()

    assert set(loaded) - sys.stdlib_module_names <= {"nacre"}
