"""Lint: rules that never decide and globs that match too little, in a policy that loads."""

import re
from collections.abc import Iterator

from nacre.core.lazy_dataclasses import replace
from nacre.firewall.analysis.findings import Finding, finding
from nacre.firewall.analysis.glob_sets import overlap
from nacre.firewall.analysis.lint_arguments import (
    PATHS,
    Definitions,
    argument_findings,
    only_about_tools,
)
from nacre.firewall.analysis.lint_limits import limit_findings
from nacre.firewall.analysis.lint_profiles import profile_findings
from nacre.firewall.analysis.received_cases import fits_nobody
from nacre.firewall.analysis.received_cases import implies as is_about_fewer_callers
from nacre.firewall.analysis.rule_scope import Scope, implies
from nacre.firewall.enforce.message import DECIDED_METHODS
from nacre.firewall.rules.arguments.call_values import Value
from nacre.firewall.rules.condition import build_condition
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOWHERE, ArgumentTest, Rule

_PARAMETERS = {
    "resources/read": {"uri"},
    "prompts/get": {"name", "arguments"},
}


def lint(policy: Policy, tools: Definitions | None = None) -> tuple[Finding, ...]:
    """Return the findings in the order of the rules, then those about limits and profiles.

    `tools` are the definitions that servers list, if they are known.
    """
    rules = policy.rules
    findings: list[Finding] = []
    for position, rule in enumerate(rules):
        findings += _never_matching(rule)
        findings += _hidden(rules, position)
        findings += _received(rule)
        findings += _too_wide(rule)
        findings += _one_argument(rules, position)
        findings += argument_findings(rules, position, tools or {})
    findings += only_about_tools(rules)
    for limit in policy.limits:
        findings += _never_matching(limit.matching)
    return (*findings, *limit_findings(policy), *profile_findings(policy, tools, lint))


def _never_matching(rule: Rule) -> Iterator[Finding]:
    if rule.kind == "method" and not any(matches(rule.name, method) for method in DECIDED_METHODS):
        is_call = matches(rule.name, "tools/call")
        yield finding(
            rule,
            "never-matches",
            f"no rule decides about '{rule.name}', so this one has no effect",
            "name the tool: tool = ..." if is_call else f"write {_or(sorted(DECIDED_METHODS))}",
        )
    server = rule.name.removeprefix("mcp__")
    if server != rule.name and "__" not in server and "*" not in server:
        yield finding(
            rule,
            "never-matches",
            f"no tool is called '{rule.name}'",
            f"name one of its tools, such as '{rule.name}__read', or leave the rule out"
            if rule.action == "allow"
            else f"write '{rule.name}__**' for all tools of that server",
        )
    owners = Scope.of(rule).server
    if len(owners) > 1 and not overlap([owners[0]], [owners[1]]):
        yield finding(
            rule,
            "never-matches",
            f"the tool is of server '{owners[1]}', and server is '{owners[0]}'",
            "name the same server in both" if rule.action == "allow" else "leave out one of them",
        )
    parameters = _PARAMETERS.get(rule.name)
    for test in rule.tests:
        if parameters is not None and test.keys[0] not in {*parameters, "*"}:
            yield finding(
                rule,
                "never-matches",
                f"{rule.name} has no {test.path}",
                f"it has {' and '.join(f'args.{name}' for name in sorted(parameters))}",
            )
        for pattern in test.globs if test.matcher is None else ():
            if not _can_match(rule, test, pattern):
                yield finding(
                    rule,
                    "never-matches",
                    f"{test.path} = '{pattern}' matches no text under all of its readings",
                    "write a plain path, decoded and without '..'",
                )


def _received(rule: Rule) -> Iterator[Finding]:
    """Find rules about callers that do not exist, or that allow only after untrusted content."""
    if fits_nobody(rule):
        yield finding(
            rule,
            "never-matches",
            "no caller can have results of external servers and have none",
            "write tainted = true, or leave it out",
        )
    elif rule.action == "allow" and (rule.tainted is True or rule.received):
        yield finding(
            rule,
            "only-tainted",
            "it allows calls only after untrusted content came in, and not before",
            "write tainted = false, or a deny or prompt with these words before an allow",
        )


def _or(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _can_match(rule: Rule, test: ArgumentTest, pattern: str) -> bool:
    """Tell whether the glob matches sample texts that it was written for."""
    condition = build_condition(ArgumentTest(test.keys, (pattern,)), rule.action, NOWHERE)
    sample = re.sub(r"\*+|\?", "x", pattern)
    samples = (sample, re.sub(r"\*\*/", "", pattern).replace("**", "").replace("*", "x"))
    fits = condition.fits_surely if rule.action == "allow" else condition.fits_possibly
    return any(fits(Value(text, NOWHERE)) for text in samples)


def _hidden(rules: tuple[Rule, ...], position: int) -> Iterator[Finding]:
    """Find the first earlier rule that decides all calls of this one."""
    rule = rules[position]
    others = [*rules[:position], *rules[position + 1 :]]
    scope = Scope.of(rule)
    for earlier in rules[:position]:
        if not Scope.of(earlier).covers(scope):
            continue
        if not all(any(implies(test, wide) for test in rule.tests) for wide in earlier.tests):
            continue
        if not is_about_fewer_callers(rule, earlier):
            continue
        if earlier.only is not None and not _is_within(rule.only, earlier.only):
            continue
        if earlier.action == rule.action:
            yield finding(
                rule,
                "redundant",
                f"{earlier.origin} already decides the same about all of its calls",
                "leave it out",
                others,
            )
        elif earlier.action == "allow":
            # A conditional allow leaves the deny the readings that it does not cover.
            calls = (
                "all of its calls" if earlier.is_unconditional else "the plain calls of this one"
            )
            yield finding(
                rule,
                "deny-after-allow",
                f"{earlier.origin} has already allowed {calls}",
                f"move it before {earlier.origin}",
                _moved(rules, position, earlier),
            )
        else:
            hint, fix = "leave it out; moved up, it would let calls through", others
            if rule.action == "deny":
                hint = f"move it before {earlier.origin}, or leave it out"
                fix = _moved(rules, position, earlier)
            text = f"{earlier.origin} decides all of its calls first"
            yield finding(rule, "unreachable", text, hint, fix)
        return


def _moved(rules: tuple[Rule, ...], position: int, earlier: Rule) -> list[Rule]:
    others = [*rules[:position], *rules[position + 1 :]]
    return [*others[: rules.index(earlier)], rules[position], *others[rules.index(earlier) :]]


def _is_within(names: tuple[str, ...] | None, others: tuple[str, ...]) -> bool:
    return names is not None and set(names) <= set(others)


def _too_wide(rule: Rule) -> Iterator[Finding]:
    if rule.action == "allow" and rule.is_unconditional and rule.server is None:
        if rule.name == "**":
            yield finding(
                rule,
                "broad-allow",
                "it allows every call that is left, methods too",
                "name the tools",
            )
        elif rule.name == "mcp__*":
            yield finding(
                rule, "broad-allow", "it allows every tool of every server", "write mcp__server__*"
            )
    for test in rule.tests:
        for pattern in test.globs if test.matcher is None else ():
            if "?" in pattern and "/" in pattern and not re.search(r"\w\?\w+=", pattern):
                yield finding(
                    rule,
                    "question-mark",
                    f"{test.path} = '{pattern}': '?' is any character, '/' too",
                    "name the files, or deny what lies below the folder first",
                )


def _one_argument(rules: tuple[Rule, ...], position: int) -> Iterator[Finding]:
    """Find rules against a path in one argument, before an allow that accepts any argument."""
    rule = rules[position]
    if rule.action == "allow" or len(rule.tests) != 1 or not re.search(r"[*?]", rule.name):
        return
    test = rule.tests[0]
    if "*" in test.keys or not PATHS.search(test.keys[-1]):
        return
    scope = Scope.of(rule)
    for later in rules[position + 1 :]:
        if later.action == "allow" and not later.tests and Scope.of(later).overlaps(scope):
            yield finding(
                rule,
                "one-argument",
                f"{later.origin} allows a tool with a path in another argument than {test.path}",
                'write args."*" to look at every argument',
                [
                    *rules[:position],
                    replace(rule, tests=(replace(test, keys=("*",)),)),
                    *rules[position + 1 :],
                ],
            )
            return
