"""Proofs about a policy: no call of a shape can be allowed, or here is one that is.

A shape is what a rule that denies would catch: `prove` tells whether such a rule, put before
all others, would stop a call that is allowed now. A proof is sound: where the sets of
`possible_texts` cannot tell two readings apart, the answer is that it cannot be shown.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Any

from nacre.firewall.analysis.glob_sets import (
    Language,
    TextSet,
    TooManyStatesError,
    memberships,
    overlap,
)
from nacre.firewall.analysis.possible_values import any_text, possible_places, possible_words
from nacre.firewall.analysis.relative_path_sets import Caught
from nacre.firewall.analysis.rule_scope import Scope, text
from nacre.firewall.enforce.message import DECIDED_METHODS
from nacre.firewall.rules.condition import Condition
from nacre.firewall.rules.evaluate import Engine
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOWHERE, ArgumentTest, Kind, Rule, Subject, Surroundings
from nacre.firewall.rules.subjects import kind_of

_MOST_MARKS = 60
_MOST_TRIES = 2000
_MOST_CASES = 200
_MOST_SPELLINGS = 16  # of one call that may be a counterexample
_MOST_CALLS = 40
_ANY = Rule(0, "allow", "**")

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of call that must never be allowed; a name may stand for tools and methods."""

    name: str
    server: str = "**"
    tests: tuple[ArgumentTest, ...] = ()
    kind: Kind | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """`holds` is True when no such call can be allowed, False when one is, else None.

    A counterexample is a call of the shape that the policy really allows.
    """

    holds: bool | None
    reason: str
    rule: int | None = None
    counterexample: Subject | None = None


def deny_rule(shape: Shape) -> Rule:
    """Return the rule that denies the calls of a shape, and no others."""
    kind = shape.kind or kind_of(shape.name)
    server = None if shape.server == "**" else shape.server
    return Rule(1, "deny", shape.name, kind, server, shape.tests)


def prove(policy: Policy, shape: Shape, where: Surroundings = NOWHERE) -> Proof:
    """Show that no call of the shape can be allowed, or find one that is."""
    engine = policy.engine(where)
    catching = Engine((deny_rule(shape),), where)
    kinds: tuple[Kind, ...] = ("tool", "method")
    kind = shape.kind or kind_of(shape.name)
    kinds = kinds if kind is None else (kind,)
    if policy.settings.mode == "monitor":
        return _unenforced(shape, kinds, catching)
    unsettled: Rule | None = None
    for place, rule in enumerate(engine.rules):
        if rule.action != "allow":
            continue
        for each in kinds:
            if rule.kind not in (None, each):
                continue
            search = _Search(rule, engine.conditions[place], shape, each, catching)
            search.hold_back(zip(engine.rules[:place], engine.conditions, strict=False))
            try:
                for subject in islice(search.subjects(), _MOST_CALLS):
                    unsettled = unsettled or rule
                    if subject is not None and engine.decide(subject).action == "allow":
                        reason = f"{rule.origin} allows such a call"
                        found = engine.decide(subject).rule
                        return Proof(False, reason, found, subject)
            except TooManyStatesError:
                unsettled = unsettled or rule
    if unsettled is not None:
        return Proof(
            None,
            f"{unsettled.origin} may allow such a call, and none was found",
            unsettled.number,
        )
    return Proof(True, "no rule that allows has a call of this shape left to it")


def _unenforced(shape: Shape, kinds: Iterable[Kind], catching: Engine) -> Proof:
    """Answer for a policy that records what it would deny, and denies nothing."""
    reason = 'mode = "monitor" records decisions and denies no call'
    for kind in kinds:
        search = _Search(_ANY, (), shape, kind, catching)
        try:
            for subject in islice(search.subjects(), _MOST_CALLS):
                if subject is not None:
                    return Proof(False, reason, None, subject)
        except TooManyStatesError:
            continue
    return Proof(None, f"{reason}, and no call of this shape was found")


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One value of a call: where it is, the sets that its text is in, and how it was read.

    `as_place` is None for a text that is read the same way as a path and as words.
    `is_relative` says that the text is a relative path.
    """

    keys: Keys
    inside: tuple[TextSet, ...]
    as_place: bool | None
    values: tuple[Any, ...] = ()  # numbers and truth values that fit
    is_relative: bool = False


@dataclass(frozen=True, slots=True)
class _Barrier:
    """An earlier rule: it stops a call if each of its conditions sees a value that it matches."""

    server: TextSet
    name: TextSet
    conditions: tuple[Condition, ...]


@dataclass(slots=True)
class _Search:
    """The search for calls of a shape that one rule allows."""

    rule: Rule
    conditions: tuple[Condition, ...]
    shape: Shape
    kind: Kind
    catching: Engine
    barriers: list[_Barrier] = field(default_factory=list)

    def hold_back(self, earlier: Iterable[tuple[Rule, tuple[Condition, ...]]]) -> None:
        """Take note of the rules that come before and may stop a call."""
        marks = 0
        for rule, conditions in earlier:
            if rule.only is not None or not all(each.reads_values for each in conditions):
                continue
            if rule.action == "allow" or rule.kind not in (None, self.kind):
                continue
            marks += len(conditions) + 1
            if marks > _MOST_MARKS or not all(each.forms for each in conditions):
                continue
            names = _stopped_names(rule, self.kind)
            if names is not None:
                server, name = (Language([each]) for each in names)
                self.barriers.append(_Barrier(server, name, conditions))

    def subjects(self) -> Iterator[Subject | None]:
        """Yield calls of the shape that may be allowed; None for one that was not found."""
        names = [each for each in self._names() if all(memberships(one, []) for one in each)]
        cases = ((name, leaves) for name in names for leaves in self._calls())
        for number, (name, leaves) in enumerate(cases):
            if number >= _MOST_CASES:
                raise TooManyStatesError
            if all(memberships(leaf.inside, []) for leaf in leaves):
                yield from self._of_case(name, leaves)

    def _names(self) -> Iterator[tuple[list[TextSet], list[TextSet]]]:
        """Yield sets that the server and the name of a call are in, case by case."""
        shape, scope = self.shape, Scope.of(self.rule)
        servers = [*scope.server, shape.server]
        if self.kind == "method":
            names = (each for each in DECIDED_METHODS if matches(self.rule.name, each))
            for name in sorted(names):
                if matches(shape.name, name):
                    yield _sets(servers), _sets([name])
            return
        yield _sets(servers), _sets([scope.name, shape.name])
        # A rule that denies also sees a name as somebody reads it: compatible characters.
        if _wide(scope.name) != scope.name:
            yield _sets(servers), _sets([_wide(scope.name), shape.name])
        if shape.name in ("*", "**"):
            return
        # It sees `mcp__server__tool` as well, wherever the name of the server ends.
        asked = Scope.of(deny_rule(shape))
        if len(asked.server) > (shape.server != "**"):
            yield _sets([*servers, *asked.server]), _sets([scope.name, asked.name])
            owners = "**__**"
        else:
            owners = "**"
        owner = _wide(scope.server[-1]) if scope.server else "**"
        qualified = f"mcp__{owners}__{_wide(scope.name)}"
        if overlap([shape.name], [qualified]) and overlap([owner], [owners]):
            yield _sets([*servers, owners]), _sets([scope.name])

    def _calls(self) -> Iterator[list[_Leaf]]:
        """Yield the values that a call of the shape has if the rule allows it, case by case."""
        catching = self.catching.conditions[0]
        for shaped in product(*(self._places_of(each) for each in catching)):
            leaves = list(shaped)
            for condition in self.conditions:
                if condition.optional:
                    continue
                stem = _stem(condition.keys)
                if any(leaf.keys[: len(stem)] == stem for leaf in leaves):
                    continue
                keys = stem if stem == condition.keys else (*stem, "any")
                leaves.append(self._allowed_leaf(keys, self._over(keys)))
            yield leaves

    def _places_of(self, catching: Condition) -> Iterator[_Leaf]:
        """Yield where in an allowed call the value can be that a test of the shape is about."""
        stem = _stem(catching.keys)
        exact = {each.keys for each in self.conditions if each.keys[-1] != "*"}
        for keys in sorted(exact):
            if keys[: len(stem)] == stem:
                yield from self._leaves(catching, keys)
        if any(stem[: len(keys)] == keys for keys in exact):
            return
        only = self.rule.only
        if only is None or (stem and stem[0] in only):
            yield from self._leaves(catching, stem)
        elif not stem:
            for name in only:
                if (name,) not in exact:
                    yield from self._leaves(catching, (name,))

    def _leaves(self, catching: Condition, keys: Keys) -> Iterator[_Leaf]:
        over = self._over(keys)
        if "**" in catching.forms:
            yield self._allowed_leaf(keys, over)
            return
        possible = possible_places if catching.as_place else possible_words
        plain = [each for each in over if each.reads_values]
        inside = [possible(each, self.catching.where) for each in plain if not each.equal]
        inside += [_spellings(each.equal) for each in plain if not each.forms]
        values = tuple(value for each in over for value in each.equal)
        leaf = _Leaf(keys, (Language(catching.forms), *inside), catching.as_place, values)
        yield leaf
        if catching.is_about_paths:
            caught = Caught(catching, is_relative=True, plain=False)
            yield replace(leaf, inside=(caught, *inside), is_relative=True)

    def _allowed_leaf(self, keys: Keys, over: Sequence[Condition]) -> _Leaf:
        """Return a value of which nothing is known but that the rule allows it."""
        over = [each for each in over if each.reads_values]
        if not over:
            return _Leaf(keys, (any_text(),), None)
        as_place = any(each.as_place for each in over)
        inside = tuple(
            Language([*each.forms, *map(text, each.equal)])
            for each in over
            if each.as_place == as_place and not any(type(one) is float for one in each.equal)
        )
        values = tuple(value for each in over for value in each.equal)
        return _Leaf(keys, inside or (any_text(),), as_place, values)

    def _over(self, keys: Keys) -> list[Condition]:
        """Return the conditions that hold for a value there in every call that is allowed."""
        return [
            each
            for each in self.conditions
            if each.keys == keys
            or (each.keys[-1] == "*" and keys[: len(each.keys) - 1] == each.keys[:-1])
        ]

    def _of_case(
        self, names: tuple[list[TextSet], list[TextSet]], leaves: Sequence[_Leaf]
    ) -> Iterator[Subject | None]:
        whole = (1 << len(self.barriers)) - 1
        servers = memberships(names[0], [each.server for each in self.barriers])
        tools = memberships(names[1], [each.name for each in self.barriers], shortest=1)
        marks = [
            (number, condition)
            for number, barrier in enumerate(self.barriers)
            for condition in barrier.conditions
        ]
        options = [
            [(mask, 0, witness) for mask, witness in servers.items()],
            [(mask, 0, witness) for mask, witness in tools.items()],
        ]
        for leaf in leaves:
            seen = [place for place, (_, each) in enumerate(marks) if _sees(each, leaf)]
            stopped = [
                Caught(marks[place][1], is_relative=leaf.is_relative)
                if marks[place][1].is_about_paths and leaf.as_place
                else Language(marks[place][1].forms)
                for place in seen
            ]
            masks = memberships(leaf.inside, stopped)
            options.append(
                [
                    (whole, sum(1 << place for bit, place in enumerate(seen) if mask >> bit & 1), t)
                    for mask, t in masks.items()
                ]
            )
        needed = [0] * len(self.barriers)
        for place, (number, _) in enumerate(marks):
            needed[number] |= 1 << place
        for server, name, *texts in _combined(options, whole, needed):
            yield self._written(server, name, leaves, texts)

    def _written(
        self, server: str, name: str, leaves: Sequence[_Leaf], texts: Sequence[str]
    ) -> Subject | None:
        """Return a call with these texts that is of the shape and fulfils the rule, or None."""
        allowing = Engine((self.rule,), self.catching.where)
        choices = [_values(leaf, each) for leaf, each in zip(leaves, texts, strict=True)]
        for values in islice(product(*choices), _MOST_SPELLINGS):
            arguments = _arguments(leaves, values)
            if arguments is None:
                continue
            subject = Subject(self.kind, name, server, arguments)
            if self.catching.place_of(subject) == 0 and allowing.place_of(subject) == 0:
                return subject
        return None


def _stem(keys: Keys) -> Keys:
    """Return the place at and below which a test that denies looks."""
    return keys[:-1] if keys[-1] == "*" else keys


def _sets(globs: Iterable[str]) -> list[TextSet]:
    return [Language([each]) for each in dict.fromkeys(globs)]


def _wide(glob: str) -> str:
    """Return a glob that covers every text whose compatible form the glob may cover."""
    letters = (each if each.isascii() and each not in "*?" else "**" for each in glob)
    return "".join(letters)


def _stopped_names(rule: Rule, kind: Kind) -> tuple[str, str] | None:
    """Return globs of a server and a name whose calls the rule is about, or None."""
    server = rule.server or "**"
    if kind == "method" or not rule.name.startswith("mcp__"):
        return server, rule.name
    owner, separator, name = rule.name.removeprefix("mcp__").partition("__")
    if not separator or rule.server is not None or "/" in owner + name:
        return None
    return owner, name


def _sees(condition: Condition, leaf: _Leaf) -> bool:
    """Tell whether the condition looks at this reading of the value."""
    stem = _stem(condition.keys)
    if leaf.keys[: len(stem)] != stem:
        return False
    return leaf.as_place in (None, condition.as_place) or "**" in condition.forms


def _spellings(wanted: Sequence[Any]) -> TextSet:
    """Return the texts of whole numbers and truth values; others have too many."""
    if any(type(each) is float or each == 0 for each in wanted):
        return any_text()
    return Language(map(text, wanted))


def _combined(
    options: Sequence[Sequence[tuple[int, int, str]]], whole: int, needed: Sequence[int]
) -> Iterator[list[str]]:
    """Yield a text for each part of a call such that no barrier stops it."""
    tries = 0
    waiting: list[tuple[int, int, list[str]]] = [(whole, 0, [])]
    while waiting:
        about, seen, texts = waiting.pop()
        if len(texts) == len(options):
            if not any(
                about >> number & 1 and marks & seen == marks for number, marks in enumerate(needed)
            ):
                yield texts
            continue
        for barriers, marks, witness in options[len(texts)]:
            tries += 1
            if tries > _MOST_TRIES:
                raise TooManyStatesError
            waiting.append((about & barriers, seen | marks, [*texts, witness]))


def _values(leaf: _Leaf, witness: str) -> list[Any]:
    """Return values that may be read as the text."""
    others = [value for value in leaf.values if text(value) == witness]
    if witness.startswith(("http://", "https://")):
        others.append(witness.partition(":")[2])  # `//host/…` is read as a URL too
    parts = witness.strip("/").split("/")
    tails = ["/".join(parts[place:]) for place in range(min(len(parts), 4))]
    # Absolute first: a relative path may be asked about instead of allowed.
    return [*others, *dict.fromkeys([f"/{tails[0]}", witness, *tails])]


def _arguments(leaves: Sequence[_Leaf], values: Sequence[Any]) -> dict[str, Any] | None:
    """Return arguments with these values, or None where one is in the way of another."""
    arguments: dict[str, Any] = {}
    places = [leaf.keys for leaf in leaves]
    for number, (keys, value) in enumerate(zip(places, values, strict=True)):
        if not keys or any(len(each) > len(keys) and each[: len(keys)] == keys for each in places):
            keys = (*keys, f"any{number or ''}")
        holder: Any = arguments
        for key in keys[:-1]:
            holder = holder.setdefault(key, {})
            if not isinstance(holder, dict):
                return None
        before = holder.get(keys[-1])
        if isinstance(before, dict):
            return None
        holder[keys[-1]] = value if before is None else [before, value]
    return arguments
