"""What looks wrong in a policy that loads: rules that never decide, globs that say too little."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nacre.policy.condition import prepared
from nacre.policy.forms import names_a_place
from nacre.policy.languages import overlap
from nacre.policy.matching import matches
from nacre.policy.policy import Policy
from nacre.policy.rule import NOWHERE, ArgumentTest, Rule
from nacre.policy.scope import Scope, globs_of, implies
from nacre.policy.values import Value
from nacre.policy.wire import DECIDED_METHODS

Kind = Literal[
    "never-matches",
    "unreachable",
    "redundant",
    "deny-after-allow",
    "star-in-command",
    "question-mark",
    "broad-allow",
    "one-argument",
]

_COMMANDS = {"args", "cmd", "code", "command", "query", "script", "shell", "sql"}
_PATHS = re.compile(r"path|file|dir|folder|uri|url|source|destination|target", re.IGNORECASE)
_PARAMETERS = {
    "resources/read": {"uri"},
    "prompts/get": {"name", "arguments"},
}
_SINGLE_STAR = re.compile(r"(?<!\*)\*(?!\*)")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that looks wrong; `rule` is the number of the rule it is about."""

    rule: int
    origin: str
    kind: Kind
    text: str
    hint: str

    def __str__(self) -> str:
        return f"{self.origin}: {self.text} ({self.hint})"


def lint(policy: Policy) -> tuple[Finding, ...]:
    """Return what looks wrong, in the order in which the rules are read."""
    return tuple(
        finding
        for place, rule in enumerate(policy.rules)
        for finding in (
            *_never(rule),
            *_hidden(policy.rules, place),
            *_wild(rule),
            *_narrow(policy.rules, place),
        )
    )


def _finding(rule: Rule, kind: Kind, text: str, hint: str) -> Finding:
    return Finding(rule.number, rule.origin, kind, text, hint)


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
            f"write '{rule.name}__**' for all tools of that server",
        )
    owners = Scope.of(rule).server
    if len(owners) > 1 and not overlap([owners[0]], [owners[1]]):
        yield _finding(
            rule,
            "never-matches",
            f"the tool is of server '{owners[1]}', and server is '{owners[0]}'",
            "leave out one of them",
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
            )
        elif earlier.action == "allow" and not earlier.is_unconditional:
            # The deny still sees readings that the allow does not vouch for.
            yield _finding(
                rule,
                "deny-after-allow",
                f"{earlier.origin} has already allowed the plain calls of this one",
                f"move it before {earlier.origin}",
            )
        elif earlier.action == "allow":
            yield _finding(
                rule,
                "deny-after-allow",
                f"{earlier.origin} has already allowed all of its calls",
                f"move it before {earlier.origin}",
            )
        else:
            yield _finding(
                rule,
                "unreachable",
                f"{earlier.origin} decides all of its calls first",
                f"move it before {earlier.origin}, or leave it out",
            )
        return


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
        is_command = test.keys[-1].lower() in _COMMANDS
        for pattern in globs_of(test) if test.matcher is None else ():
            if _SINGLE_STAR.search(pattern) and (is_command or not names_a_place(pattern)):
                yield _finding(
                    rule,
                    "star-in-command",
                    f"{test.path} = '{pattern}': '*' stops at '/', and commands hold paths",
                    f"write '{_SINGLE_STAR.sub('**', pattern)}'",
                )
            if "?" in pattern and "/" in pattern and not re.search(r"\w\?\w+=", pattern):
                yield _finding(
                    rule,
                    "question-mark",
                    f"{test.path} = '{pattern}': '?' is any character, '/' too",
                    "write '*' to stay within a folder",
                )


def _narrow(rules: tuple[Rule, ...], place: int) -> Iterator[Finding]:
    """Find rules against a path under one name, before an allow that takes any name."""
    rule = rules[place]
    if rule.action == "allow" or len(rule.tests) != 1 or not re.search(r"[*?]", rule.name):
        return
    test = rule.tests[0]
    if "*" in test.keys or not _PATHS.search(test.keys[-1]):
        return
    scope = Scope.of(rule)
    for later in rules[place + 1 :]:
        if later.action == "allow" and not later.tests and Scope.of(later).overlaps(scope):
            yield _finding(
                rule,
                "one-argument",
                f"a tool that calls its path otherwise than {test.path} passes by {later.origin}",
                'write args."*" to look at every argument',
            )
            return
