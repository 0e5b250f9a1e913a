"""Which tools a policy speaks about, and which rules speak about no tool there is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOWHERE, Rule, Surroundings

Fate = Literal["allowed", "depends", "asked", "denied", "unmentioned"]


@dataclass(frozen=True, slots=True)
class ToolCoverage:
    """One tool: the rules about it, and what may happen to its calls.

    `depends` on the arguments; `unmentioned` is denied because no rule is about it.
    """

    server: str
    tool: str
    fate: Fate
    rules: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """All tools of all servers, and the numbers of rules about none of them."""

    tools: tuple[ToolCoverage, ...]
    idle_rules: tuple[int, ...]


def coverage(
    policy: Policy, tools: Mapping[str, Iterable[str]], where: Surroundings = NOWHERE
) -> Coverage:
    """Return what the policy says about the tools of each server.

    Rules about methods are never idle: servers do not list those. Nor is a rule about every tool:
    it waits for tools that come later.
    """
    found = tuple(
        _tool(policy, server, tool, where)
        for server, names in sorted(tools.items())
        for tool in sorted(set(names))
    )
    used = {number for each in found for number in each.rules}
    idle = [
        rule.number
        for rule in policy.rules
        if rule.number not in used and rule.kind != "method" and not _is_fallback(rule)
    ]
    return Coverage(found, tuple(idle))


def _is_fallback(rule: Rule) -> bool:
    return rule.name in ("*", "**") and rule.server in (None, "*", "**") and not rule.tests


def _tool(policy: Policy, server: str, tool: str, where: Surroundings) -> ToolCoverage:
    engine = policy.engine(where)
    rules: list[int] = []
    actions: set[str] = set()
    is_open = True  # a call without arguments that a rule asks for can still get here
    for place in engine.candidates("tool", tool, server).places:
        rule = engine.rules[place]
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
