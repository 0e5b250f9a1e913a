"""Lint of limits: those that count nothing, and those that another one keeps from being reached."""

from collections.abc import Iterator

from nacre.firewall.analysis.findings import Finding, finding
from nacre.firewall.analysis.rule_scope import Scope, implies
from nacre.firewall.rules.limit import Limit
from nacre.firewall.rules.policy import Policy


def limit_findings(policy: Policy) -> Iterator[Finding]:
    """Yield the findings in the order of the limits."""
    rules = [*policy.rules, *(rule for profile in policy.profiles for rule in profile.rules)]
    for position, limit in enumerate(policy.limits):
        scope = Scope.of(limit.matching)
        if not any(rule.action != "deny" and Scope.of(rule).overlaps(scope) for rule in rules):
            yield finding(
                limit.matching,
                "counts-nothing",
                "no rule allows a call that it counts",
                "allow the calls with a rule; a limit only bounds them",
            )
        others = [*policy.limits[:position], *policy.limits[position + 1 :]]
        for other in others:
            if _is_reached_first(other, limit) and not (
                _is_reached_first(limit, other) and other.number > limit.number
            ):
                yield finding(
                    limit.matching,
                    "unreachable",
                    f"{other.matching.origin} is always reached first",
                    "leave it out, or make it smaller",
                )
                break


def _is_reached_first(wide: Limit, narrow: Limit) -> bool:
    """Tell whether a limit counts every call of another one, and has no more room."""
    asks_first = wide.matching.action == "prompt" and narrow.matching.action == "deny"
    return (
        not asks_first
        and wide.measure == narrow.measure
        and wide.per == narrow.per
        and wide.amount <= narrow.amount
        and set(wide.by) <= set(narrow.by)
        and Scope.of(wide.matching).covers(Scope.of(narrow.matching))
        and wide.matching.only is None
        and all(
            any(implies(test, other) for test in narrow.matching.tests)
            for other in wide.matching.tests
        )
    )
