import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
    "importlinter"
]["contracts"]

LAYERS = "Layers: imports point downwards"
FUNCTIONS_ON_TOP = "Handlers: nothing imports a function"
HANDLERS = "Handlers: settings, wiring and a face, nothing else"
ADAPTERS = "Adapters: only wiring chooses one"
FEATURES = "Features: no vendors and no operating system"
NAMES = "Names: no utils, helpers, common or misc"

# One file each, and the contracts that it breaks.
VIOLATIONS = {
    "a lower layer imports a higher one": (
        "shared/nacre/ports/planted.py",
        "import nacre.protocol.principal",
        {LAYERS},
    ),
    "siblings meet": ("shared/nacre/access/planted.py", "import nacre.tools", {LAYERS}),
    "a package that no layer names": ("shared/nacre/planted.py", "", {LAYERS}),
    "the package imports a function": (
        "shared/nacre/cli/planted.py",
        "import functions.planted",
        {FUNCTIONS_ON_TOP},
    ),
    "a handler imports a feature": (
        "functions/planted/handler.py",
        "import nacre.access",
        {HANDLERS},
    ),
    "a handler imports an adapter": (
        "functions/planted/handler.py",
        "import nacre.adapters",
        {HANDLERS, ADAPTERS},
    ),
    "a command imports an adapter": (
        "shared/nacre/cli/planted.py",
        "import nacre.adapters",
        {ADAPTERS},
    ),
    "a face imports an adapter": (
        "shared/nacre/faces/planted.py",
        "import nacre.adapters",
        {ADAPTERS},
    ),
    "a feature imports a vendor": (
        "shared/nacre/being/planted.py",
        "import boto3",
        {FEATURES},
    ),
    "a feature imports the operating system": (
        "shared/nacre/tools/planted.py",
        "def f() -> None:\n    from os import environ",
        {FEATURES},
    ),
    "a new feature imports a vendor": (
        "shared/nacre/orders/planted.py",
        "import openai",
        {FEATURES},
    ),
    "a file of odds and ends": ("shared/nacre/protocol/utils.py", "", {NAMES}),
}


def broken_contracts(tree: Path) -> set[str]:
    run = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree / "shared"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    broken = set(re.findall(r"^(.+) BROKEN\b", run.stdout, re.MULTILINE))
    assert (run.returncode == 0) == (not broken), run.stdout + run.stderr
    assert " KEPT" in run.stdout, run.stdout + run.stderr
    return broken


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what the contracts are about; the linter keeps its cache there, for each next run."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("shared", "functions"):
        shutil.copytree(
            ROOT / folder,
            tree / folder,
            ignore=shutil.ignore_patterns("__pycache__", "nacre_tables"),
        )
    (tree / "infra").mkdir()
    for file in ("pyproject.toml", "infra/contracts.py"):
        shutil.copy(ROOT / file, tree / file)
    (tree / "functions" / "planted").mkdir()
    (tree / "functions" / "planted" / "handler.py").touch()
    return tree


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_a_planted_violation_breaks_its_contract(tree: Path, violation: str) -> None:
    file, code, expected = VIOLATIONS[violation]
    planted = tree / file
    planted.write_text(code)

    broken = broken_contracts(tree)

    if file.startswith("functions/"):
        planted.write_text("")
    else:
        planted.unlink()
    assert broken == expected


def test_every_contract_has_a_violation_that_proves_it() -> None:
    proven = set().union(*(expected for _, _, expected in VIOLATIONS.values()))

    assert proven == {contract["name"] for contract in CONTRACTS}
