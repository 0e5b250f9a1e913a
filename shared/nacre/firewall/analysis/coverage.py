"""Coverage: the tools that a policy has rules about, and the rules about no known tool."""

from collections.abc import Iterable, Mapping
from typing import Literal

from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.firewall.analysis.received_cases import LATELY, NEVER, in_case
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOWHERE, Rule, Surroundings

Fate = Literal["allowed", "depends", "asked", "denied", "unmentioned"]


@dataclass(frozen=True, slots=True)
class ToolCoverage:
    """One tool: the rules about it, and the fate of its calls.

    `depends` means on the arguments; `unmentioned` calls are denied because no rule matches.
    `tainted` is the fate of calls after results of external servers, where that differs.
    """

    server: str
    tool: str
    fate: Fate
    rules: tuple[int, ...]
    tainted: Fate | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """All tools of all servers, and the numbers of the rules about none of them."""

    tools: tuple[ToolCoverage, ...]
    idle_rules: tuple[int, ...]


def coverage(
    policy: Policy, tools: Mapping[str, Iterable[str]], where: Surroundings = NOWHERE
) -> Coverage:
    """Return the coverage of the tools of each server.

    Rules about methods are never idle, because servers do not list methods. Nor is a rule about
    every tool: it is meant for tools that come later.
    """
    before = after = policy
    if any(rule.reads_origins for rule in policy.rules):
        before = in_case(policy, NEVER, lenient=False)
        after = in_case(policy, LATELY, lenient=False)
    reports = tuple(
        _both(_tool(before, server, tool, where), _tool(after, server, tool, where))
        for server, names in sorted(tools.items())
        for tool in sorted(set(names))
    )
    used = {number for report in reports for number in report.rules}
    idle = [
        rule.number
        for rule in policy.rules
        if rule.number not in used and rule.kind != "method" and not _is_fallback(rule)
    ]
    return Coverage(reports, tuple(idle))


def _is_fallback(rule: Rule) -> bool:
    return rule.name in ("*", "**") and rule.server in (None, "*", "**") and not rule.tests


def _both(before: ToolCoverage, after: ToolCoverage) -> ToolCoverage:
    """Return the coverage of a tool before and after results of external servers."""
    tainted = None if after.fate == before.fate else after.fate
    rules = tuple(sorted({*before.rules, *after.rules}))
    return replace(before, rules=rules, tainted=tainted)


def _tool(policy: Policy, server: str, tool: str, where: Surroundings) -> ToolCoverage:
    engine = policy.engine(where)
    rules: list[int] = []
    actions: set[str] = set()
    is_open = True  # a call that no rule so far matches for certain can get here
    for position in engine.candidates("tool", tool, server).positions:
        rule = engine.rules[position]
        rules.append(rule.number)
        actions.add(rule.action)
        if rule.is_unconditional:
            is_open = False
            break
    return ToolCoverage(server, tool, _fate(rules, actions, is_open), tuple(rules))


def _fate(rules: list[int], actions: set[str], is_open: bool) -> Fate:
    if not rules:
        return "unmentioned"
    if is_open:
        actions = {*actions, "deny"}
    if len(actions) > 1:
        return "depends"
    fates: dict[str, Fate] = {"allow": "allowed", "prompt": "asked", "deny": "denied"}
    return fates[actions.pop()]
