"""Why a call is decided as it is: each rule about it, and what it said."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nacre.policy.condition import Condition, FoldedCondition, PartsCondition
from nacre.policy.evaluate import Engine, has_only, is_well_formed
from nacre.policy.matching import matches
from nacre.policy.policy import Policy
from nacre.policy.rule import NOWHERE, ArgumentTest, Decision, Kind, Rule, Subject, Surroundings
from nacre.policy.subjects import is_about
from nacre.policy.values import Value, Values

_SHOWN = 120
_QUALIFIED = "mcp__"


@dataclass(frozen=True, slots=True)
class Step:
    """One rule about calls of this name: whether it matched, and why or why not."""

    rule: int
    origin: str
    action: str
    matched: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule about calls of this name that was not asked, because it is about another server."""

    rule: int
    origin: str
    action: str
    server: str

    def line(self) -> str:
        """Return what a person reads about it."""
        return f"{self.origin} ({self.action}) is skipped: it is about the server '{self.server}'"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with its reasons; rules about other tools are left out.

    `skipped` are the rules before the one that decided that would be about the call if it were
    one of their server.
    """

    decision: Decision
    steps: tuple[Step, ...]
    skipped: tuple[Skipped, ...] = ()

    def lines(self) -> list[str]:
        """Return the explanation as a person reads it."""
        lines = [f"{self.decision.action}: {self.decision.text}"]
        for step in self.steps:
            verb = "matches" if step.matched else "does not match"
            lines.append(f"  {step.origin} ({step.action}) {verb}")
            lines.extend(f"    {reason}" for reason in step.reasons)
        lines.extend(f"  {each.line()}" for each in self.skipped)
        return lines


def explain(policy: Policy, subject: Subject, where: Surroundings = NOWHERE) -> Explanation:
    """Return the decision about a call, and what every rule up to it said."""
    engine = policy.engine(where)
    decision = engine.decide(subject)
    if not is_well_formed(subject):
        return Explanation(decision, ())
    before = decision.rule
    skipped = [
        each
        for each in skipped_rules(policy, subject.kind, subject.name, subject.server)
        if before is None or each.rule < before
    ]
    return Explanation(decision, tuple(_steps(engine, subject, decision)), tuple(skipped))


def skipped_rules(policy: Policy, kind: Kind, name: str, server: str) -> list[Skipped]:
    """Return the rules about calls of this name that are about another server only."""
    found = []
    for rule in policy.rules:
        wanted = rule.server
        if rule.name.startswith(_QUALIFIED) and kind == "tool" and not name.startswith(_QUALIFIED):
            wanted, _, tool = rule.name.removeprefix(_QUALIFIED).partition("__")
            is_named = matches(tool or "**", name)
        else:
            is_named = is_about(replace(rule, server=None), kind, name, server)
        if wanted is not None and is_named and not is_about(rule, kind, name, server):
            found.append(Skipped(rule.number, rule.origin, rule.action, wanted))
    return found


def _steps(engine: Engine, subject: Subject, decision: Decision) -> Iterator[Step]:
    for place in engine.candidates(subject.kind, subject.name, subject.server).places:
        rule = engine.rules[place]
        reasons = []
        matched = True
        for test, condition in zip(rule.tests, engine.conditions[place], strict=True):
            holds, reason = _reason(rule, test, condition, subject, engine.where)
            reasons.append(reason)
            matched &= holds
        if rule.only is not None:
            holds = has_only(subject.arguments, frozenset(rule.only), subject.kind)
            reasons.append(_closed(rule.only, subject))
            matched &= holds
        if rule.is_unconditional:
            reasons.append("it is about every call of this name")
        yield Step(rule.number, rule.origin, rule.action, matched, tuple(reasons))
        if rule.number == decision.rule:
            return


def _reason(
    rule: Rule, test: ArgumentTest, condition: Condition, subject: Subject, where: Surroundings
) -> tuple[bool, str]:
    values = Values(subject.arguments, test.keys, where)
    holds = condition.holds(values)
    if not values.every or (holds and condition.optional and not _fits_any(condition, values)):
        missing = "the call has no such argument"
        return holds, f"{test.path}: {missing}{', and it is optional' if holds else ''}"
    if isinstance(condition, PartsCondition):
        return holds, f"{test.path}: {_parts(test, condition, values)}"
    if rule.action != "allow":
        for value in values.every:
            if condition.fits_possibly(value):
                return holds, f"{test.path}: {_possible(condition, value)}"
        return holds, f"{test.path}: no reading of {_shown(values.every[0])} matches"
    if not values.accepted:
        return holds, f"{test.path}: an allow takes one value, or a list of them, and nothing else"
    for value in values.accepted:
        if not condition.fits_surely(value):
            return holds, f"{test.path}: {_unsure(condition, value)}"
    return holds, f"{test.path}: every reading of {_shown(values.accepted[0])} matches"


def _fits_any(condition: Condition, values: Values) -> bool:
    return any(condition.fits_possibly(value) for value in values.every)


def _closed(only: tuple[str, ...], subject: Subject) -> str:
    others = [name for name in subject.arguments if not has_only({name: 0}, only, subject.kind)]
    if not others:
        return "only_args: the call has no other argument"
    return f"only_args: the call has '{_cut(str(others[0]))}' too"


def _parts(test: ArgumentTest, condition: PartsCondition, values: Values) -> str:
    """Say what a matcher found in the value that decided, or in the first."""
    for value in values.every:
        parts = condition.parts(value)
        if parts is None:
            return f"{_shown(value)} is not plainly what {test.matcher} reads"
        for part in parts:
            if not condition.matches(part):
                return f"{_shown(value)} has '{_cut(part)}', which does not match"
    return f"{test.matcher} reads {_shown(values.every[0])}, and all of it matches"


def _possible(condition: Condition, value: Value) -> str:
    read = value.read(as_place=condition.as_place)
    if not read.complete:
        return f"{_shown(value)} can be read in more ways than are looked at"
    for text in read.possible:
        for form in condition.forms:
            if matches(form, _spelled(condition, text)):
                if text == value.value:
                    return f"{_shown(value)} matches '{form}'"
                return f"{_shown(value)} can be read as '{_cut(text)}', which matches '{form}'"
    return f"{_shown(value)} is what the rule names"


def _unsure(condition: Condition, value: Value) -> str:
    read = value.read(as_place=condition.as_place)
    if not read.complete:
        return f"{_shown(value)} can be read in more ways than are looked at"
    if not read.legible:
        return f"{_shown(value)} holds a character that no name can have, or too much of it"
    for text in read.sure:
        if not any(matches(form, _spelled(condition, text)) for form in condition.forms):
            if text == value.value:
                return f"{_shown(value)} does not match"
            return f"{_shown(value)} can be read as '{_cut(text)}', which does not match"
    return f"{_shown(value)} does not match"


def _spelled(condition: Condition, text: str) -> str:
    return text.casefold() if isinstance(condition, FoldedCondition) else text


def _shown(value: Value) -> str:
    return f"'{_cut(str(value.value))}'"


def _cut(text: str) -> str:
    text = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
