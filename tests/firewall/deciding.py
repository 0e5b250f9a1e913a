"""Short ways to say a policy and a call in tests, and a plain evaluator to compare with."""

from collections.abc import Collection, Mapping
from typing import Any

from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.arguments.call_values import Values
from nacre.firewall.rules.condition import NO, YES, build_condition
from nacre.firewall.rules.evaluate import has_only
from nacre.firewall.rules.globs.pattern_forms import is_about_paths
from nacre.firewall.rules.policy import Policy, is_about
from nacre.firewall.rules.rule import NOWHERE, Action, Rule, Subject, Surroundings

Decision = tuple[int, Action]

PROJECTS = '[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "/home/user/projects/**"\n'


def policy(text: str) -> Policy:
    return load_policy(text, source="policy.toml")


def call(
    tool: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    server: str = "fs",
    received: Collection[str] | None = None,
) -> Subject:
    known = None if received is None else frozenset(received)
    given = {} if arguments is None else arguments
    return Subject("tool", tool, server, given, received=known)


def method(name: str, params: Mapping[str, Any] | None = None) -> Subject:
    return Subject("method", name, "fs", {} if params is None else params)


def decide(
    text: str, tool: str, arguments: Mapping[str, Any] | None = None, *, server: str = "fs"
) -> Action:
    return policy(text).decide(call(tool, arguments, server=server)).action


def rule(action: str, argument: str, *, tool: str = "read") -> str:
    return f'[[rule]]\naction = "{action}"\ntool = "{tool}"\nargs.{argument}\n'


def decides_path(action: str, pattern: str, value: object, where: Surroundings = NOWHERE) -> bool:
    """Tell whether one rule about `path` matches the value."""
    text = f"[[rule]]\naction = '{action}'\ntool = 'read'\nargs.path = '{pattern}'\n"
    decision = policy(text).decide(call("read", {"path": value}), where)
    return (decision.rule, decision.action) == (1, action)


def linear(rules: Policy, subject: Subject, where: Surroundings = NOWHERE) -> Decision | None:
    """Return the rule that decides and its action, one rule after the other, without an index."""
    about = [
        rule for rule in rules.rules if is_about(rule, subject.kind, subject.name, subject.server)
    ]
    named = frozenset(
        test.keys[-1]
        for rule in about
        for test in rule.tests
        if any(is_about_paths(value) for value in test.values if isinstance(value, str))
    )
    is_sure = True
    for rule in about:
        results = [
            build_condition(test, rule.action, where).holds(
                Values(subject.arguments, test.keys, where), named
            )
            for test in rule.tests
        ]
        result = min(results, default=YES)
        if rule.only is not None and not has_only(subject.arguments, rule.only, subject.kind):
            result = NO
        if not _is_about_received(rule, subject.received):
            result = NO
        if rule.action == "allow" and result != NO:
            return (rule.number, "allow" if is_sure and result == YES else "prompt")
        if result == YES:
            return (rule.number, rule.action)
        is_sure &= result == NO
    return None


def _is_about_received(rule: Rule, received: frozenset[str] | None) -> bool:
    if rule.tainted is None and not rule.received:
        return True
    if received is None:
        return rule.action != "allow"
    origins = set()
    for text in received:
        origin, _, age = text.partition(", within ")
        if not age or (rule.window is not None and int(age.split()[0]) <= rule.window + 1):
            origins.add(origin)
    kinds = {origin.split(":")[0] for origin in origins}
    if rule.tainted is not None and rule.tainted != ("external" in kinds):
        return False
    return not rule.received or bool({*rule.received} & {*origins, *kinds})
