"""Decisions, globs and paths: the product's own vectors, and those beside the checkout."""

from collections import Counter
from typing import Any

import pytest

from nacre.firewall.policies.compiled import from_json, to_json
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.globs.matching import Automaton, matches
from nacre.firewall.rules.policy import Policy, is_well_formed
from nacre.firewall.rules.rule import Subject, Surroundings
from tests.firewall.deciding import call, linear
from tests.vectors import sets
from tests.vectors.sets import SETS, rows

pytestmark = [pytest.mark.security, pytest.mark.parametrize("which", SETS)]
ROOT = (
    '[[rule]]\naction = "allow"\ntool = "filesystem_read"\nargs.path = "/home/user/projects/**"\n'
)


def policies(which: str) -> dict[str, Policy]:
    texts = sets.policies(which)
    return {name: load_policy(text, source=name) for name, text in texts.items()}


def subject_of(row: dict[str, Any]) -> Subject:
    message = row["message"]
    params = message.get("params") or {}
    if message["method"] == "tools/call":
        name: Any = params.get("name")
        return Subject("tool", name, row["server"], params.get("arguments", {}))
    return Subject("method", message["method"], row["server"], params)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_every_decision_is_one_that_the_vectors_expect(which: str, is_compiled: bool) -> None:
    known = policies(which)
    if is_compiled:
        known = {name: from_json(to_json(policy)) for name, policy in known.items()}
    wrong = []
    for row in rows(which, "decision_cases"):
        where = Surroundings(home=row.get("env", {}).get("HOME"))
        decision = known[row["policy"]].decide(subject_of(row), where)
        if decision.action not in row["expected"]:
            wrong.append((row["id"], decision))

    assert wrong == []


def test_every_decision_is_that_of_reading_rule_by_rule(which: str) -> None:
    known = policies(which)
    for row in rows(which, "decision_cases"):
        subject, policy = subject_of(row), known[row["policy"]]
        if is_well_formed(subject):
            decided = policy.decide(subject)
            found = None if decided.rule is None else (decided.rule, decided.action)
            assert found == linear(policy, subject), row["id"]


def test_every_glob_matches_as_recommended(which: str) -> None:
    wrong = [
        row
        for row in rows(which, "glob_vectors")
        if not (
            matches(row["pattern"], row["text"])
            is Automaton(row["pattern"]).covers(row["text"])
            is row["recommended"]
        )
    ]

    assert wrong == []


def test_no_traversal_is_allowed_and_no_ordinary_path_is_denied(which: str) -> None:
    policy = load_policy(ROOT, source="root")
    seen = Counter(
        (row["expected"], policy.decide(call("filesystem_read", {"path": row["path"]})).action)
        for row in rows(which, "path_traversal")
    )

    assert seen["not_allow", "allow"] == 0
    assert seen["allow", "deny"] == 0
    assert seen["not_allow", "deny"] > 0
    assert seen["allow", "allow"] > 0


def test_every_traversal_out_of_the_root_meets_a_rule_that_denies_all_else(
    which: str,
) -> None:
    # What leaves /home/user/projects is found by a rule that denies everything outside it.
    policy = load_policy(
        '[[rule]]\naction = "deny"\ntool = "*"\nargs.path = ["/etc/**", "**/etc/**", "**/passwd"]\n'
        '[[rule]]\naction = "allow"\ntool = "*"\n',
        source="p",
    )
    missed = [
        row["path"]
        for row in rows(which, "path_traversal")
        if row["path"].endswith("etc/passwd")
        and policy.decide(call("read", {"path": row["path"]})).action != "deny"
    ]

    assert missed == []
