"""The product's own vectors: large enough, without repetition, and the same at every call."""

import pytest

from tests.vectors.sets import OWN

pytestmark = pytest.mark.security
LEAST = {
    "decision_cases": 96,
    "glob_vectors": 1078,
    "injection_attacks": 284,
    "injection_benign": 705,
    "path_traversal": 1058,
    "secrets": 22,
    "tool_definitions": 209,
    "wire_cases": 23,
}


@pytest.mark.parametrize("name", LEAST)
def test_a_set_is_large_and_repeats_nothing(name: str) -> None:
    rows = OWN[name]()
    assert len(rows) >= LEAST[name]
    assert len({str(row) for row in rows}) == len(rows)
    assert OWN[name]() == rows


def test_every_kind_of_vector_is_there() -> None:
    assert set(OWN) == set(LEAST)


def test_globs_and_paths_have_both_outcomes() -> None:
    fits = [row["recommended"] for row in OWN["glob_vectors"]()]
    leaves = [row["expected"] == "not_allow" for row in OWN["path_traversal"]()]
    assert min(fits.count(True), fits.count(False)) > 300
    assert min(leaves.count(True), leaves.count(False)) > 200
