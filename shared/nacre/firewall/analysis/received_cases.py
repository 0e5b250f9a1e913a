"""Cases of content that a caller has received before its call, as rules tell them apart."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from nacre.core.lazy_dataclasses import replace
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.received_origins import EXTERNAL, KINDS, fits
from nacre.firewall.rules.rule import NOTHING, Rule

Fit = Literal["surely", "perhaps", "never"]

_FRESH = "anything"  # a source that rules seldom name


def examples(rules: Sequence[Rule], *, tainted: bool | None = None) -> Iterator[frozenset[str]]:
    """Yield an example of each case that a caller may be in; one without any content comes first.

    With `tainted`, only callers with results of external servers, or only those without.
    """
    globs = dict.fromkeys([*KINDS, *(glob for rule in rules for glob in rule.received)])
    samples = list(dict.fromkeys(map(_sample, globs)))
    cases = [NOTHING, *(frozenset([sample]) for sample in samples), frozenset(samples)]
    for case in dict.fromkeys(cases):
        is_external = any(origin.startswith(f"{EXTERNAL}:") for origin in case)
        if tainted is None or tainted is is_external:
            yield case


def in_case(policy: Policy, *, tainted: bool, lenient: bool) -> Policy:
    """Return the policy for callers with results of external servers, or for those without.

    Its rules do not depend on what was received. One that decides in a part of the case only is
    kept if it allows and `lenient`, or if it does not allow and not `lenient`; so no call is
    allowed by the policy and not by the lenient one.
    """
    rules = []
    for rule in policy.rules:
        if not rule.reads_origins:
            rules.append(rule)
            continue
        fit = _fit(rule, tainted=tainted)
        if fit == "surely" or (fit == "perhaps" and (rule.action == "allow") is lenient):
            rules.append(replace(rule, tainted=None, received=()))
    return replace(policy, rules=tuple(rules))


def _fit(rule: Rule, *, tainted: bool) -> Fit:
    """Tell whether a rule fits every caller of a case, some of them, or none."""
    if rule.tainted is not None and rule.tainted is not tainted:
        return "never"
    if not rule.received or (tainted and EXTERNAL in rule.received):
        return "surely"
    if not tainted and all(glob.partition(":")[0] == EXTERNAL for glob in rule.received):
        return "never"
    return "perhaps"


def implies(narrow: Rule, wide: Rule) -> bool:
    """Tell whether the wide rule fits every caller that the narrow one fits."""
    if not wide.reads_origins:
        return True
    if wide.action == "allow" and narrow.action != "allow":
        return False  # if nobody can tell what a caller has received, only the narrow one fits
    only_external = bool(narrow.received) and all(
        glob.partition(":")[0] == EXTERNAL for glob in narrow.received
    )
    is_tainted = narrow.tainted is True or (narrow.tainted is None and only_external)
    if wide.tainted is True and not is_tainted:
        return False
    if wide.tainted is False and narrow.tainted is not False:
        return False
    if not wide.received or (is_tainted and EXTERNAL in wide.received):
        return True
    return bool(narrow.received) and all(
        glob in wide.received or glob.partition(":")[0] in wide.received for glob in narrow.received
    )


def fits_nobody(rule: Rule) -> bool:
    """Tell whether no caller can have received what the rule is about."""
    return rule.reads_origins and not any(fits(rule, case) for case in examples([rule]))


def _sample(glob: str) -> str:
    kind, _, name = glob.partition(":")
    return f"{kind}:{re.sub('[*]+|[?]', 'x', name) or _FRESH}"


def sources(received: Iterable[str]) -> str:
    """Return origins as words for people."""
    return ", ".join(sorted(received)) or "nothing"
