"""Proofs about a policy: no call of a shape can be allowed, or here is one that is.

A shape holds for a call when some reading of each argument is in the shape's globs. An
allowed call has every reading in the globs of the rule that allows it, so what the
shape, the rule and no earlier deny have in common is all that there can be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nacre.policy.forms import names_a_place, possible_forms, sure_forms
from nacre.policy.languages import Language, TooManyStatesError, memberships
from nacre.policy.policy import Policy
from nacre.policy.rule import NOWHERE, ArgumentTest, Kind, Rule, Subject, Surroundings
from nacre.policy.scope import Scope, globs_of, text
from nacre.policy.subjects import kind_of

_MOST_MARKS = 60
_MOST_TRIES = 2000

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of call that must never be allowed."""

    name: str
    server: str = "**"
    tests: tuple[ArgumentTest, ...] = ()
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """`holds` is True when no such call can be allowed, False when one is, else None.

    A counterexample is a call that the policy really allows.
    """

    holds: bool | None
    reason: str
    rule: int | None = None
    counterexample: Subject | None = None


@dataclass(frozen=True, slots=True)
class _Region:
    """Calls as a product: the globs of the server, of the name, and of each argument."""

    server: tuple[str, ...]
    name: str
    arguments: dict[Keys, tuple[str, ...]]


def prove(policy: Policy, shape: Shape, where: Surroundings = NOWHERE) -> Proof:
    """Show that no call of the shape can be allowed, or find one that is."""
    unsettled: Rule | None = None
    kind: Kind = shape.kind or kind_of(shape.name) or "tool"
    for place, rule in enumerate(policy.rules):
        if rule.action != "allow" or rule.kind not in (None, kind):
            continue
        try:
            for subject in _candidates(policy.rules[:place], rule, shape, kind, where):
                if subject is None:
                    unsettled = rule
                elif policy.decide(subject, where).action == "allow":
                    return Proof(False, f"{rule.origin} allows such a call", rule.number, subject)
                else:
                    unsettled = rule
        except TooManyStatesError:
            unsettled = rule
    if unsettled is not None:
        return Proof(
            None,
            f"{unsettled.origin} may allow such a call, and none was found that it does",
            unsettled.number,
        )
    return Proof(True, "no rule that allows has a call of this shape left to it")


def _candidates(
    earlier: Sequence[Rule], rule: Rule, shape: Shape, kind: Kind, where: Surroundings
) -> Iterator[Subject | None]:
    """Yield calls of the shape that the rule may allow; None for one that cannot be written."""
    scope = Scope.of(rule)
    keys = _places(rule, shape)
    asked = Scope.of(Rule(0, "allow", shape.name, kind, shape.server))
    inside = [
        [Language([each]) for each in (*asked.server, *scope.server)],
        [Language([asked.name]), Language([scope.name])],
        *(list(_wanted(place, rule, shape, where)) for place in keys),
    ]
    # Of most rules nothing is in the shape, and no earlier rule has to be looked at.
    if not all(memberships(languages, []) for languages in inside):
        return
    barriers = [
        region
        for each in earlier
        if each.action != "allow" and each.kind in (None, kind)
        for region in _barriers(each, keys, rule, shape, where)
    ][:_MOST_MARKS]
    choices = []
    for number, languages in enumerate(inside):
        marks = [Language(_dimension(region, number, keys)) for region in barriers]
        choices.append(memberships(languages, marks, shortest=1 if number < 2 else 0))
    full = (1 << len(barriers)) - 1
    for texts in _combined(choices, full):
        server, name, *values = texts
        arguments = _arguments(keys, values)
        yield None if arguments is None else Subject(kind, name, server, arguments)


def _places(rule: Rule, shape: Shape) -> list[Keys]:
    found = [test.keys for test in (*shape.tests, *rule.tests) if "*" not in test.keys]
    if not found and any("*" in test.keys for test in (*shape.tests, *rule.tests)):
        star = next(test.keys for test in (*shape.tests, *rule.tests) if "*" in test.keys)
        found = [(*star[:-1], "any")]
    return list(dict.fromkeys(found))


def _is_at(pattern: Keys, keys: Keys) -> bool:
    return pattern == keys or (pattern[-1] == "*" and pattern[:-1] == keys[: len(pattern) - 1])


def _wanted(keys: Keys, rule: Rule, shape: Shape, where: Surroundings) -> Iterator[Language]:
    shaped = [test for test in shape.tests if _is_at(test.keys, keys)]
    is_place = any(names_a_place(glob) for test in shaped for glob in globs_of(test))
    for test in shaped:
        yield Language(form for each in test.wanted for form in sure_forms(text(each), where))
    for test in rule.tests:
        if not _is_at(test.keys, keys):
            continue
        if is_place and not any(names_a_place(glob) for glob in globs_of(test)):
            yield Language(["**"])  # its words say nothing about what they mean as a path
        else:
            yield Language(form for each in test.wanted for form in sure_forms(text(each), where))
    if not shaped and not any(_is_at(test.keys, keys) for test in rule.tests):
        yield Language(["**"])


def _barriers(
    denying: Rule, keys: list[Keys], rule: Rule, shape: Shape, where: Surroundings
) -> Iterator[_Region]:
    """Yield regions in which an earlier rule surely stops the call."""
    scope = Scope.of(denying)
    if len(scope.server) > 1:
        return
    if any(not globs_of(test) for test in denying.tests):
        return
    if any("*" in test.keys for test in denying.tests):
        if len(denying.tests) > 1:
            return
        (test,) = denying.tests
        spots = [place for place in keys if _is_at(test.keys, place)]
        for place in spots:
            if _sees(test, place, rule, shape):
                yield _Region(scope.server, scope.name, {place: _stopped(test, where)})
        return
    if all(test.keys in keys and _sees(test, test.keys, rule, shape) for test in denying.tests):
        stopped: dict[Keys, tuple[str, ...]] = {}
        for test in denying.tests:
            stopped[test.keys] = _stopped(test, where)
        yield _Region(scope.server, scope.name, stopped)


def _sees(test: ArgumentTest, keys: Keys, rule: Rule, shape: Shape) -> bool:
    """Tell whether the test looks at the readings that the shape and the rule speak of."""
    if any(names_a_place(glob) for glob in globs_of(test)) or "**" in globs_of(test):
        return True
    others = [other for other in (*rule.tests, *shape.tests) if _is_at(other.keys, keys)]
    return not any(names_a_place(glob) for other in others for glob in globs_of(other))


def _stopped(test: ArgumentTest, where: Surroundings) -> tuple[str, ...]:
    return tuple(form for glob in globs_of(test) for form in possible_forms(glob, where))


def _dimension(region: _Region, number: int, keys: list[Keys]) -> tuple[str, ...]:
    if number == 0:
        return region.server or ("**",)
    if number == 1:
        return (region.name,)
    return region.arguments.get(keys[number - 2], ("**",))


def _combined(choices: list[dict[int, str]], full: int) -> Iterator[list[str]]:
    """Yield a text for each dimension such that no barrier holds in all of them."""
    tries = 0
    waiting: list[tuple[int, list[str]]] = [(full, [])]
    while waiting:
        mask, texts = waiting.pop()
        if len(texts) == len(choices):
            if mask == 0:
                yield texts
            continue
        for each, witness in choices[len(texts)].items():
            tries += 1
            if tries > _MOST_TRIES:
                raise TooManyStatesError
            waiting.append((mask & each, [*texts, witness]))


def _arguments(keys: list[Keys], values: list[str]) -> dict[str, Any] | None:
    arguments: dict[str, Any] = {}
    for place, value in zip(keys, values, strict=True):
        holder: Any = arguments
        for key in place[:-1]:
            holder = holder.setdefault(key, {})
            if not isinstance(holder, dict):
                return None
        if place[-1] in holder:
            return None
        holder[place[-1]] = value
    return arguments
