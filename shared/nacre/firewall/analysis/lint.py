"""What looks wrong in a policy that loads: rules that never decide, globs that say too little."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from nacre.firewall.analysis.findings import Finding, Kind
from nacre.firewall.analysis.glob_sets import overlap
from nacre.firewall.analysis.lint_arguments import (
    PATHS,
    Definitions,
    in_arguments,
    only_about_tools,
)
from nacre.firewall.analysis.rule_scope import Scope, globs_of, implies
from nacre.firewall.enforce.message import DECIDED_METHODS
from nacre.firewall.rules.arguments.call_values import Value
from nacre.firewall.rules.condition import prepared
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOWHERE, ArgumentTest, Rule

_PARAMETERS = {
    "resources/read": {"uri"},
    "prompts/get": {"name", "arguments"},
}


def lint(policy: Policy, tools: Definitions | None = None) -> tuple[Finding, ...]:
    """Return what looks wrong, in the order in which the rules are read.

    `tools` are the definitions that servers list, where they are known.
    """
    rules = policy.rules
    found = [
        finding
        for place, rule in enumerate(rules)
        for finding in (
            *_never(rule),
            *_hidden(rules, place),
            *_wild(rule),
            *_narrow(rules, place),
            *in_arguments(rules, place, tools or {}),
        )
    ]
    return (*found, *only_about_tools(rules))


def _finding(
    rule: Rule, kind: Kind, text: str, hint: str, fix: Iterable[Rule] | None = None
) -> Finding:
    return Finding(rule.number, rule.origin, kind, text, hint, None if fix is None else tuple(fix))


def _never(rule: Rule) -> Iterator[Finding]:
    if rule.kind == "method" and not any(matches(rule.name, each) for each in DECIDED_METHODS):
        is_call = matches(rule.name, "tools/call")
        yield _finding(
            rule,
            "never-matches",
            f"no rule decides about '{rule.name}', whatever this one says",
            "name the tool: tool = ..." if is_call else f"write {_or(sorted(DECIDED_METHODS))}",
        )
    server = rule.name.removeprefix("mcp__")
    if server != rule.name and "__" not in server and "*" not in server:
        yield _finding(
            rule,
            "never-matches",
            f"no tool is called '{rule.name}'",
            f"name one of its tools, such as '{rule.name}__read', or leave the rule out"
            if rule.action == "allow"
            else f"write '{rule.name}__**' for all tools of that server",
        )
    owners = Scope.of(rule).server
    if len(owners) > 1 and not overlap([owners[0]], [owners[1]]):
        yield _finding(
            rule,
            "never-matches",
            f"the tool is of server '{owners[1]}', and server is '{owners[0]}'",
            "name the same server in both" if rule.action == "allow" else "leave out one of them",
        )
    known = _PARAMETERS.get(rule.name)
    for test in rule.tests:
        if known is not None and test.keys[0] not in {*known, "*"}:
            yield _finding(
                rule,
                "never-matches",
                f"{rule.name} has no {test.path}",
                f"it has {' and '.join(f'args.{name}' for name in sorted(known))}",
            )
        for pattern in globs_of(test) if test.matcher is None else ():
            if not _can_match(rule, test, pattern):
                yield _finding(
                    rule,
                    "never-matches",
                    f"{test.path} = '{pattern}' matches no text under all of its readings",
                    "write what it means: a plain path, decoded, without '..'",
                )


def _or(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _can_match(rule: Rule, test: ArgumentTest, pattern: str) -> bool:
    """Try texts that the glob covers; a glob about them all would decide otherwise."""
    condition = prepared(ArgumentTest(test.keys, (pattern,)), rule.action, NOWHERE)
    sample = re.sub(r"\*+|\?", "x", pattern)
    samples = (sample, re.sub(r"\*\*/", "", pattern).replace("**", "").replace("*", "x"))
    fits = condition.fits_surely if rule.action == "allow" else condition.fits_possibly
    return any(fits(Value(each, NOWHERE)) for each in samples)


def _hidden(rules: tuple[Rule, ...], place: int) -> Iterator[Finding]:
    """Find the first earlier rule that leaves this one nothing to decide."""
    rule = rules[place]
    scope = Scope.of(rule)
    for earlier in rules[:place]:
        if not Scope.of(earlier).covers(scope):
            continue
        if not all(any(implies(mine, theirs) for mine in rule.tests) for theirs in earlier.tests):
            continue
        if earlier.only is not None and not _is_within(rule.only, earlier.only):
            continue
        if earlier.action == rule.action:
            yield _finding(
                rule,
                "redundant",
                f"{earlier.origin} already decides the same about all of its calls",
                "leave it out",
                [*rules[:place], *rules[place + 1 :]],
            )
        elif earlier.action == "allow" and not earlier.is_unconditional:
            # The deny still sees readings that the allow does not vouch for.
            yield _finding(
                rule,
                "deny-after-allow",
                f"{earlier.origin} has already allowed the plain calls of this one",
                f"move it before {earlier.origin}",
                _moved(rules, place, earlier),
            )
        elif earlier.action == "allow":
            yield _finding(
                rule,
                "deny-after-allow",
                f"{earlier.origin} has already allowed all of its calls",
                f"move it before {earlier.origin}",
                _moved(rules, place, earlier),
            )
        else:
            yield _finding(
                rule,
                "unreachable",
                f"{earlier.origin} decides all of its calls first",
                f"move it before {earlier.origin}, or leave it out"
                if rule.action == "deny"
                else "leave it out; moved up, it would let calls through",
                _moved(rules, place, earlier)
                if rule.action == "deny"
                else [*rules[:place], *rules[place + 1 :]],
            )
        return


def _moved(rules: tuple[Rule, ...], place: int, earlier: Rule) -> list[Rule]:
    others = [*rules[:place], *rules[place + 1 :]]
    return [*others[: rules.index(earlier)], rules[place], *others[rules.index(earlier) :]]


def _is_within(names: tuple[str, ...] | None, others: tuple[str, ...]) -> bool:
    return names is not None and set(names) <= set(others)


def _wild(rule: Rule) -> Iterator[Finding]:
    if rule.action == "allow" and rule.is_unconditional and rule.server is None:
        if rule.name == "**":
            yield _finding(
                rule,
                "broad-allow",
                "it allows every call that is left, methods too",
                "name the tools",
            )
        elif rule.name == "mcp__*":
            yield _finding(
                rule, "broad-allow", "it allows every tool of every server", "write mcp__server__*"
            )
    for test in rule.tests:
        for pattern in globs_of(test) if test.matcher is None else ():
            if "?" in pattern and "/" in pattern and not re.search(r"\w\?\w+=", pattern):
                yield _finding(
                    rule,
                    "question-mark",
                    f"{test.path} = '{pattern}': '?' is any character, '/' too",
                    "name the files, or deny what lies below the folder first",
                )


def _narrow(rules: tuple[Rule, ...], place: int) -> Iterator[Finding]:
    """Find rules against a path under one name, before an allow that takes any name."""
    rule = rules[place]
    if rule.action == "allow" or len(rule.tests) != 1 or not re.search(r"[*?]", rule.name):
        return
    test = rule.tests[0]
    if "*" in test.keys or not PATHS.search(test.keys[-1]):
        return
    scope = Scope.of(rule)
    for later in rules[place + 1 :]:
        if later.action == "allow" and not later.tests and Scope.of(later).overlaps(scope):
            yield _finding(
                rule,
                "one-argument",
                f"a tool that calls its path otherwise than {test.path} passes by {later.origin}",
                'write args."*" to look at every argument',
                [
                    *rules[:place],
                    replace(rule, tests=(replace(test, keys=("*",)),)),
                    *rules[place + 1 :],
                ],
            )
            return
