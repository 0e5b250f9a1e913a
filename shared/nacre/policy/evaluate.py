"""Deciding: the first rule that matches a call, else deny."""

from collections.abc import Mapping, Sequence
from typing import Any

from nacre.policy import glob
from nacre.policy.arguments import JsonNumber, number, reach, spellings
from nacre.policy.readings import Readings, readings, words
from nacre.policy.rule import ArgumentTest, Decision, Rule, Subject, Surroundings, Wanted
from nacre.policy.subjects import is_about

NO_RULE = Decision("deny", None, None, "Blocked by policy (no rule matches)")
MALFORMED = Decision("deny", None, None, "Blocked by policy (the call is malformed)")


class Engine:
    """The rules of one policy, prepared for the servers of one place."""

    def __init__(self, rules: Sequence[Rule], where: Surroundings) -> None:
        self.rules = tuple(rules)
        self.where = where
        self._decisions = tuple(decision_of(rule) for rule in self.rules)

    def decide(self, subject: Subject) -> Decision:
        """Return what happens to the call."""
        if not is_well_formed(subject):
            return MALFORMED
        for place, rule in enumerate(self.rules):
            if is_about(rule, subject.kind, subject.name, subject.server) and all(
                holds(test, subject.arguments, rule, self.where) for test in rule.tests
            ):
                return self._decisions[place]
        return NO_RULE


def decision_of(rule: Rule) -> Decision:
    """Return the decision that a rule makes."""
    origin = rule.origin or f"rule {rule.number}"
    said = {
        "allow": f"Allowed by policy ({origin})",
        "deny": f"Blocked by policy ({origin})",
        "prompt": f"Approval needed by policy ({origin})",
    }
    text = rule.description or said[rule.action]
    return Decision(rule.action, rule.number, rule.description, text)


def is_well_formed(subject: Subject) -> bool:
    """Tell whether a call can be decided: a name that is a text, arguments by name."""
    name: object = subject.name  # both come from a message, whatever their types say
    arguments: object = subject.arguments
    if not isinstance(name, str) or not name or not isinstance(arguments, Mapping):
        return False
    return not any(each == "\0" or "\ud800" <= each <= "\udfff" for each in name)


def holds(test: ArgumentTest, arguments: Any, rule: Rule, where: Surroundings) -> bool:
    """Tell whether one test of a rule holds for the arguments."""
    accepted, every = reach(arguments, test.keys)
    if rule.action == "allow":
        return bool(accepted) and all(_is_surely(value, test.wanted, where) for value in accepted)
    return any(_is_possibly(value, test.wanted, where) for value in every)


def _is_surely(value: Any, wanted: tuple[Wanted, ...], where: Surroundings) -> bool:
    if any(_equals(value, each, exact=True) for each in wanted):
        return True
    patterns = [each for each in wanted if isinstance(each, str)]
    if not isinstance(value, str) or isinstance(value, JsonNumber):
        texts = spellings(value)
        return all(any(glob.matches(each, text) for each in patterns) for text in texts)
    return any(
        read.legible
        and all(any(glob.matches(form, text) for form in forms(each, where)) for text in read.sure)
        for each in patterns
        for read in [read_for(each, value, where)]
    )


def _is_possibly(value: Any, wanted: tuple[Wanted, ...], where: Surroundings) -> bool:
    if any(_equals(value, each, exact=False) for each in wanted):
        return True
    patterns = [each for each in wanted if isinstance(each, str)]
    if not isinstance(value, str) or isinstance(value, JsonNumber):
        return any(glob.matches(each, text) for each in patterns for text in spellings(value))
    return any(
        glob.matches(form, text)
        for each in patterns
        for form in forms(each, where)
        for text in read_for(each, value, where).possible
    )


def _equals(value: Any, wanted: Wanted, *, exact: bool) -> bool:
    if isinstance(wanted, str):
        return False
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    found = number(value)
    return found is not None and found == wanted and not (exact and type(found) is not type(wanted))


def read_for(pattern: str, value: str, where: Surroundings) -> Readings:
    """Return the readings of a value that a pattern asks for."""
    return readings(value, where) if names_a_place(pattern) else words(value)


def names_a_place(pattern: str) -> bool:
    """Tell whether a pattern is about paths or URLs; one with blanks is about commands."""
    return " " not in pattern or pattern.startswith(("/", "~"))


def forms(pattern: str, where: Surroundings) -> tuple[str, ...]:
    """Return the spellings of a pattern that a reading may match."""
    return (pattern,)
