"""Cases of content that a caller has received before its call, as rules tell them apart."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import MAX_WINDOW_HOURS
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.received_origins import (
    EXTERNAL,
    HOUR,
    KINDS,
    aged,
    fits,
    is_tainted,
    read_aged,
)
from nacre.firewall.rules.rule import NOTHING, Rule

Fit = Literal["surely", "perhaps", "never"]
Case = int
"""When a caller has received a result of an external server.

LATELY counts for every rule, and NEVER for none. A number of hours is a window of the policy: the
result counts for windows that are as long, and not for shorter ones.
"""
LATELY: Case = 0
NEVER: Case = MAX_WINDOW_HOURS + 1

_FRESH = "anything"  # a source that rules seldom name


def examples(rules: Sequence[Rule], *, case: Case | None = None) -> Iterator[frozenset[str]]:
    """Yield an example of what callers may have received; one without any content comes first.

    With `case`, only those of callers in this case.
    """
    globs = dict.fromkeys([*KINDS, *(glob for rule in rules for glob in rule.received)])
    windows = dict.fromkeys(rule.window for rule in rules if rule.window is not None)
    fresh = list(dict.fromkeys(map(_sample, globs)))
    older = [aged(text, (hours - 1) * HOUR) for text in fresh for hours in windows]
    samples = [*fresh, *older]
    groups = [frozenset(fresh), frozenset(older)]
    for received in dict.fromkeys([NOTHING, *(frozenset([text]) for text in samples), *groups]):
        if case is None or case == _case_of(received, windows):
            yield received


def cases_of(rules: Iterable[Rule]) -> list[Case]:
    """Return the cases that the rules tell apart."""
    return [NEVER, *sorted({rule.window for rule in rules if rule.window is not None}), LATELY]


def _case_of(received: Iterable[str], windows: Iterable[int]) -> Case:
    ages = [read_aged(text)[1] for text in received if is_tainted([text])]
    if None in ages:
        return LATELY
    last = min((hours for hours in ages if hours is not None), default=NEVER + 1)
    return min((window for window in windows if last <= window + 1), default=NEVER)


def in_case(policy: Policy, case: Case, *, lenient: bool) -> Policy:
    """Return the policy for callers in a case of this policy.

    Its rules do not depend on what was received. One that decides in a part of the case only is
    kept if it allows and `lenient`, or if it does not allow and not `lenient`; so no call is
    allowed by the policy and not by the lenient one.
    """
    rules = []
    for rule in policy.rules:
        if not rule.reads_origins:
            rules.append(rule)
            continue
        fit = _fit(rule, case)
        if fit == "surely" or (fit == "perhaps" and (rule.action == "allow") is lenient):
            rules.append(rule.for_every_caller())
    return replace(policy, rules=tuple(rules))


def _fit(rule: Rule, case: Case) -> Fit:
    """Tell whether a rule fits every caller of a case, some of them, or none."""
    tainted = case == LATELY or (rule.window is not None and case <= rule.window)
    if rule.tainted is not None and rule.tainted is not tainted:
        return "never"
    if not rule.received or (tainted and EXTERNAL in rule.received):
        return "surely"
    if not tainted and all(map(_is_external, rule.received)):
        return "never"
    return "perhaps"


def implies(narrow: Rule, wide: Rule) -> bool:
    """Tell whether the wide rule fits every caller that the narrow one fits."""
    if not wide.reads_origins:
        return True
    if wide.action == "allow" and narrow.action != "allow":
        return False  # if nobody can tell what a caller has received, only the narrow one fits
    only_external = bool(narrow.received) and all(map(_is_external, narrow.received))
    has_external = narrow.tainted is True or (narrow.tainted is None and only_external)
    counts_too = (narrow.window or 0) <= (wide.window or 0)
    if wide.tainted is True and not (has_external and counts_too):
        return False
    if wide.tainted is False and not (
        narrow.tainted is False and (wide.window or 0) <= (narrow.window or 0)
    ):
        return False
    if not wide.received:
        return True
    if not counts_too:
        return False
    if has_external and EXTERNAL in wide.received:
        return True
    return bool(narrow.received) and all(
        glob in wide.received or glob.partition(":")[0] in wide.received for glob in narrow.received
    )


def fits_nobody(rule: Rule) -> bool:
    """Tell whether no caller can have received what the rule is about."""
    return rule.reads_origins and not any(fits(rule, case) for case in examples([rule]))


def _is_external(glob: str) -> bool:
    return glob.partition(":")[0] == EXTERNAL


def _sample(glob: str) -> str:
    kind, _, name = glob.partition(":")
    return f"{kind}:{re.sub('[*]+|[?]', 'x', name) or _FRESH}"


def sources(received: Iterable[str]) -> str:
    """Return origins as words for people."""
    return ", ".join(sorted(received)) or "nothing"
