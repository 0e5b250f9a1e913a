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
LEFT_OUT = "Handlers: nothing that their layer leaves out"
ADAPTERS = "Adapters: only wiring chooses one"
FEATURES = "Features: no vendors and no operating system"
BEING = "Being: its parts point downwards"
MEMORY = "Memory: its parts point downwards"
PATROL = "Patrol: its parts point downwards"
ORDERS = "Orders: their parts point downwards"
FIREWALL = "Firewall: its parts point downwards"
GATEWAY = "Gateway: its parts point downwards"
ACCESS = "Access: its parts point downwards"
WIRING = "Wiring: its parts point downwards"
ALONE = "Firewall: it needs no other product"
VENDORS = "Adapters: no vendor knows another"
NAMES = "Names: no utils, helpers, common or misc"

# One file each, and the contracts that it breaks.
VIOLATIONS = {
    "a lower layer imports a higher one": (
        "shared/nacre/ports/planted.py",
        "import nacre.protocol.principal",
        {LAYERS},
    ),
    "siblings meet": ("shared/nacre/access/tokens/planted.py", "import nacre.sdk", {LAYERS}),
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
    "a handler imports a part that its layer leaves out": (
        "functions/planted/handler.py",
        "import nacre.faces.stdio",
        {LEFT_OUT},
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
        "shared/nacre/being/tools/planted.py",
        "import boto3",
        {FEATURES},
    ),
    "a feature imports the operating system": (
        "shared/nacre/sdk/planted.py",
        "def f() -> None:\n    from os import environ",
        {FEATURES},
    ),
    "a new feature imports a vendor": (
        "shared/nacre/being/orders/order/planted.py",
        "import openai",
        {FEATURES},
    ),
    "memory imports the patrol": (
        "shared/nacre/being/memory/model/planted.py",
        "import nacre.being.patrol",
        {BEING},
    ),
    "a model of memories imports their store": (
        "shared/nacre/being/memory/model/planted.py",
        "import nacre.being.memory.store",
        {MEMORY},
    ),
    "a run imports a step": (
        "shared/nacre/being/patrol/run/planted.py",
        "import nacre.being.patrol.steps",
        {PATROL},
    ),
    "a session imports an order": (
        "shared/nacre/being/orders/sessions/planted.py",
        "import nacre.being.orders.order",
        {ORDERS},
    ),
    "a rule imports the guard": (
        "shared/nacre/firewall/rules/planted.py",
        "import nacre.firewall.enforce",
        {FIREWALL},
    ),
    "a configured server imports the catalogue": (
        "shared/nacre/gateway/servers/planted.py",
        "import nacre.gateway.catalogue",
        {GATEWAY},
    ),
    "a token imports OAuth": (
        "shared/nacre/access/tokens/planted.py",
        "import nacre.access.oauth",
        {ACCESS},
    ),
    "a feature imports a composition": (
        "shared/nacre/wiring/features/planted.py",
        "import nacre.wiring.aws",
        {WIRING},
    ),
    "the firewall imports tokens": (
        "shared/nacre/firewall/rules/planted.py",
        "import nacre.access",
        {LAYERS, ALONE},
    ),
    "SQLite imports AWS": (
        "shared/nacre/adapters/sqlite/planted.py",
        "import nacre.adapters.aws",
        {VENDORS},
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
            ignore=shutil.ignore_patterns(
                "__pycache__", "nacre_tables", "nacre_encoder", "nacre_english"
            ),
        )
    (tree / "infra").mkdir()
    for file in ("pyproject.toml", "infra/contracts.py"):
        shutil.copy(ROOT / file, tree / file)
    (tree / "functions" / "planted").mkdir()
    (tree / "functions" / "planted" / "handler.py").touch()
    return tree


@pytest.mark.slow
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
