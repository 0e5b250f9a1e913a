"""The sets that the security tests run on: the product's own always, and those beside the checkout.

`python -m tests.vectors FOLDER` writes the own set as JSON Lines.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.vectors import decisions, definitions, globs, secrets, texts, traversal, wire

BESIDE = Path(__file__).parents[3] / "shared" / "vectors"
SETS = ("own", "beside") if BESIDE.is_dir() else ("own",)
OWN: Mapping[str, Callable[[], list[dict[str, Any]]]] = {
    "decision_cases": decisions.rows,
    "glob_vectors": globs.rows,
    "injection_attacks": texts.attacks,
    "injection_benign": texts.benign,
    "path_traversal": traversal.rows,
    "secrets": secrets.rows,
    "tool_definitions": definitions.rows,
    "wire_cases": wire.rows,
}


@cache
def rows(which: str, name: str) -> list[dict[str, Any]]:
    """Return the vectors of one kind from one set."""
    if which == "own":
        return OWN[name]()
    lines = (BESIDE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def policies(which: str) -> dict[str, str]:
    """Return the policies that the decisions of a set are about, as TOML."""
    if which == "own":
        return decisions.POLICIES
    known: dict[str, str] = json.loads((BESIDE / "decision_policies.json").read_text())
    return known
