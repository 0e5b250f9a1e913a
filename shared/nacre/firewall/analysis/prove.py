"""Proofs about a policy: no call of a shape can be allowed, or here is one that is.

A shape describes the calls that a denying rule would match: `prove` tells whether such a
rule, put before all others, would stop a call that is allowed now. A proof is sound: if the
sets of `possible_values` cannot tell two readings apart, the result is "cannot tell".
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Any

from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.firewall.analysis.glob_sets import (
    Language,
    TextSet,
    TooManyStatesError,
    memberships,
    overlap,
)
from nacre.firewall.analysis.possible_values import any_text, possible_places, possible_words
from nacre.firewall.analysis.received_cases import (
    LATELY,
    NEVER,
    Case,
    cases_of,
    examples,
    in_case,
)
from nacre.firewall.analysis.relative_path_sets import CaughtTexts
from nacre.firewall.analysis.rule_scope import Scope, text
from nacre.firewall.enforce.message import DECIDED_METHODS
from nacre.firewall.rules.condition import Condition
from nacre.firewall.rules.evaluate import Engine
from nacre.firewall.rules.globs.glob import is_literal
from nacre.firewall.rules.globs.matching import matches
from nacre.firewall.rules.policy import Policy, kind_of
from nacre.firewall.rules.rule import NOWHERE, ArgumentTest, Kind, Rule, Subject, Surroundings

_MAX_MARKS = 60
_MAX_TRIES = 2000
_MAX_CASES = 200
_MAX_SPELLINGS = 16  # of one call that may be a counterexample
_MAX_CALLS = 40
_ANY = Rule(0, "allow", "**")

Keys = tuple[str, ...]
# For one part of a call: the barriers about it, the conditions that match it, and an example.
_Options = list[tuple[int, int, str]]


@dataclass(frozen=True, slots=True)
class Shape:
    """The calls that must never be allowed; the name may match tools and methods.

    With `tainted` they are those of callers with results of external servers, or without any.
    """

    name: str
    server: str = "**"
    tests: tuple[ArgumentTest, ...] = ()
    kind: Kind | None = None
    tainted: bool | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """The result: `holds` is True if no such call can be allowed, False if one is, else None.

    A counterexample is a call of the shape that the policy allows.
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
    """Prove that no call of the shape can be allowed, or find one that is."""
    if not any(rule.reads_origins for rule in policy.rules):
        return _with_received(_prove(policy, shape, where), policy, where, _case(shape))
    case = _case(shape)
    cases = cases_of(policy.rules) if case is None else [case]
    proofs = [
        _with_received(
            _prove(in_case(policy, case, lenient=True), shape, where), policy, where, case
        )
        for case in cases
    ]
    return min(proofs, key=lambda proof: (False, None, True).index(proof.holds))


def _case(shape: Shape) -> Case | None:
    if shape.tainted is None:
        return None
    return LATELY if shape.tainted else NEVER


def _with_received(proof: Proof, policy: Policy, where: Surroundings, case: Case | None) -> Proof:
    """Return a proof whose counterexample says what its caller has received."""
    subject = proof.counterexample
    if subject is None or policy.settings.mode == "monitor":
        return proof
    for received in examples(policy.rules, case=case):
        call = subject._replace(received=received)
        if policy.decide(call, where).action == "allow":
            rule = policy.decide(call, where).rule
            return replace(proof, rule=rule, counterexample=call)
    reason = "a rule may allow such a call after content of some origin, but no example was found"
    return Proof(None, reason, proof.rule)


def _prove(policy: Policy, shape: Shape, where: Surroundings) -> Proof:
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
        for candidate in kinds:
            if rule.kind not in (None, candidate):
                continue
            search = _Search(rule, engine.conditions[place], shape, candidate, catching)
            search.add_barriers(zip(engine.rules[:place], engine.conditions, strict=False))
            try:
                for subject in islice(search.subjects(), _MAX_CALLS):
                    unsettled = unsettled or rule
                    if subject is not None and engine.decide(subject).action == "allow":
                        reason = f"{rule.origin} allows such a call"
                        return Proof(False, reason, engine.decide(subject).rule, subject)
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
    """Return the result for a policy in monitor mode, which denies nothing."""
    reason = 'mode = "monitor" records decisions and denies no call'
    for kind in kinds:
        search = _Search(_ANY, (), shape, kind, catching)
        try:
            for subject in islice(search.subjects(), _MAX_CALLS):
                if subject is not None:
                    return Proof(False, reason, None, subject)
        except TooManyStatesError:
            continue
    return Proof(None, f"{reason}, and no call of this shape was found")


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One value of a call: its place, the sets that its text is in, and how it is read.

    `as_path` is None for a text that has the same readings as a path and as words.
    `is_relative` means that the text is a relative path.
    """

    keys: Keys
    inside: tuple[TextSet, ...]
    as_path: bool | None
    values: tuple[Any, ...] = ()  # numbers and truth values that fit
    is_relative: bool = False


@dataclass(frozen=True, slots=True)
class _Barrier:
    """An earlier rule, which stops a call if each of its conditions matches a value."""

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

    def add_barriers(self, earlier: Iterable[tuple[Rule, tuple[Condition, ...]]]) -> None:
        """Add the earlier rules that may stop a call."""
        marks = 0
        for rule, conditions in earlier:
            if rule.only is not None or not all(condition.reads_values for condition in conditions):
                continue
            if rule.action == "allow" or rule.kind not in (None, self.kind):
                continue
            marks += len(conditions) + 1
            if marks > _MAX_MARKS or not all(condition.forms for condition in conditions):
                continue
            names = _stopped_names(rule, self.kind)
            if names is not None:
                server, name = (Language([glob]) for glob in names)
                self.barriers.append(_Barrier(server, name, conditions))

    def subjects(self) -> Iterator[Subject | None]:
        """Yield calls of the shape that may be allowed, or None for a case without an example."""
        names = [pair for pair in self._names() if all(memberships(sets, []) for sets in pair)]
        calls = list(islice(self._calls(), _MAX_CASES + 1))
        texts: dict[int, list[_Options]] = {}  # costly, and the same for all names
        cases = ((name, place) for name in names for place in range(len(calls)))
        for number, (name, place) in enumerate(cases):
            if number >= _MAX_CASES:
                raise TooManyStatesError
            if place not in texts:
                exists = all(memberships(leaf.inside, []) for leaf in calls[place])
                texts[place] = list(map(self._texts_of, calls[place])) if exists else []
            if texts[place] or not calls[place]:
                yield from self._of_case(name, calls[place], texts[place])

    def _names(self) -> Iterator[tuple[list[TextSet], list[TextSet]]]:
        """Yield the sets of the server and of the name of a call, for each case."""
        shape, scope = self.shape, Scope.of(self.rule)
        servers = [*scope.server, shape.server]
        if self.kind == "method":
            names = (method for method in DECIDED_METHODS if matches(self.rule.name, method))
            for name in sorted(names):
                if matches(shape.name, name):
                    yield _sets(servers), _sets([name])
            return
        yield _sets(servers), _sets([scope.name, shape.name])
        # A denying rule also matches a name in its compatible characters.
        if _wide(scope.name) != scope.name:
            yield _sets(servers), _sets([_wide(scope.name), shape.name])
        if shape.name in ("*", "**"):
            return
        # It also matches `mcp__server__tool`, wherever the name of the server ends.
        prefix = f"mcp__{shape.server}__"
        if is_literal(shape.server) and shape.name.startswith(prefix):
            yield _sets(servers), _sets([scope.name, shape.name.removeprefix(prefix)])
            return
        denied = Scope.of(deny_rule(shape))
        others = ["**"]
        if len(denied.server) > (shape.server != "**"):
            yield _sets([*servers, *denied.server]), _sets([scope.name, denied.name])
            others = ["**__**", "**_"]  # the first `__` is not where such a server's name ends
        owner = _wide(scope.server[-1]) if scope.server else "**"
        for owners in others:
            qualified = f"mcp__{owners}__{_wide(scope.name)}"
            if overlap([shape.name], [qualified]) and overlap([owner], [owners]):
                yield _sets([*servers, owners]), _sets([scope.name])

    def _calls(self) -> Iterator[list[_Leaf]]:
        """Yield the values of a call of the shape that the rule allows, for each case."""
        catching = self.catching.conditions[0]
        for shaped in product(*map(self._places_of, catching)):
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
        """Yield the places in an allowed call that a test of the shape can be about."""
        stem = _stem(catching.keys)
        exact = {condition.keys for condition in self.conditions if condition.keys[-1] != "*"}
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
        possible = possible_places if catching.as_path else possible_words
        plain = [condition for condition in over if condition.reads_values]
        where = self.catching.where
        inside = [possible(condition, where) for condition in plain if not condition.equal]
        inside += [_spellings(condition.equal) for condition in plain if not condition.forms]
        values = tuple(value for condition in over for value in condition.equal)
        leaf = _Leaf(keys, (Language(catching.forms), *inside), catching.as_path, values)
        yield leaf
        if catching.is_about_paths:
            caught = CaughtTexts(catching, is_relative=True, plain=False)
            yield replace(leaf, inside=(caught, *inside), is_relative=True)

    def _allowed_leaf(self, keys: Keys, over: Sequence[Condition]) -> _Leaf:
        """Return a value that the rule allows and the shape does not restrict."""
        over = [condition for condition in over if condition.reads_values]
        if not over:
            return _Leaf(keys, (any_text(),), None)
        as_path = any(condition.as_path for condition in over)
        inside = tuple(
            Language([*condition.forms, *map(text, condition.equal)])
            for condition in over
            if condition.as_path == as_path and float not in map(type, condition.equal)
        )
        values = tuple(value for condition in over for value in condition.equal)
        return _Leaf(keys, inside or (any_text(),), as_path, values)

    def _over(self, keys: Keys) -> list[Condition]:
        """Return the conditions that hold for a value at this place in every allowed call."""
        return [
            condition
            for condition in self.conditions
            if condition.keys == keys
            or (
                condition.keys[-1] == "*" and keys[: len(condition.keys) - 1] == condition.keys[:-1]
            )
        ]

    def _marks(self) -> list[tuple[int, Condition]]:
        """Return the conditions of all barriers, each with the barrier's number."""
        return [
            (number, condition)
            for number, barrier in enumerate(self.barriers)
            for condition in barrier.conditions
        ]

    def _texts_of(self, leaf: _Leaf) -> _Options:
        """Return texts of a value, for each combination of the conditions that hold for it."""
        marks = self._marks()
        tested = [place for place, (_, test) in enumerate(marks) if _tests(test, leaf)]
        stopped = [
            CaughtTexts(marks[place][1], is_relative=leaf.is_relative)
            if marks[place][1].is_about_paths and leaf.as_path
            else Language(marks[place][1].forms)
            for place in tested
        ]
        return [
            (
                (1 << len(self.barriers)) - 1,
                sum(1 << place for bit, place in enumerate(tested) if mask >> bit & 1),
                witness,
            )
            for mask, witness in memberships(leaf.inside, stopped).items()
        ]

    def _of_case(
        self,
        names: tuple[list[TextSet], list[TextSet]],
        leaves: Sequence[_Leaf],
        texts_of_leaves: Sequence[_Options],
    ) -> Iterator[Subject | None]:
        every_barrier = (1 << len(self.barriers)) - 1
        servers = memberships(names[0], [barrier.server for barrier in self.barriers])
        tools = memberships(names[1], [barrier.name for barrier in self.barriers], shortest=1)
        marks = self._marks()
        options: list[_Options] = [
            [(mask, 0, witness) for mask, witness in servers.items()],
            [(mask, 0, witness) for mask, witness in tools.items()],
            *texts_of_leaves,
        ]
        needed = [0] * len(self.barriers)
        for place, (number, _) in enumerate(marks):
            needed[number] |= 1 << place
        for server, name, *texts in _combinations(options, every_barrier, needed):
            yield self._example(server, name, leaves, texts)

    def _example(
        self, server: str, name: str, leaves: Sequence[_Leaf], texts: Sequence[str]
    ) -> Subject | None:
        """Return a call with these texts that has the shape and matches the rule, or None."""
        allowing = Engine((self.rule,), self.catching.where)
        choices = [_values(leaf, witness) for leaf, witness in zip(leaves, texts, strict=True)]
        for values in islice(product(*choices), _MAX_SPELLINGS):
            arguments = _arguments(leaves, values)
            if arguments is None:
                continue
            subject = Subject(self.kind, name, server, arguments)
            if self.catching.position_of(subject) == 0 and allowing.position_of(subject) == 0:
                return subject
        return None


def _stem(keys: Keys) -> Keys:
    """Return the place at and below which a denying test looks."""
    return keys[:-1] if keys[-1] == "*" else keys


def _sets(globs: Iterable[str]) -> list[TextSet]:
    return [Language([glob]) for glob in dict.fromkeys(globs)]


def _wide(glob: str) -> str:
    """Return a glob that covers every text whose compatible form the given glob may cover."""
    letters = (letter if letter.isascii() and letter not in "*?" else "**" for letter in glob)
    return "".join(letters)


def _stopped_names(rule: Rule, kind: Kind) -> tuple[str, str] | None:
    """Return globs of the server and the name that the rule is about, or None."""
    server = rule.server or "**"
    if kind == "method" or not rule.name.startswith("mcp__"):
        return server, rule.name
    owner, separator, name = rule.name.removeprefix("mcp__").partition("__")
    if not separator or rule.server is not None or "/" in owner + name:
        return None
    return owner, name


def _tests(condition: Condition, leaf: _Leaf) -> bool:
    """Tell whether the condition tests this reading of the value."""
    stem = _stem(condition.keys)
    if leaf.keys[: len(stem)] != stem:
        return False
    return leaf.as_path in (None, condition.as_path) or "**" in condition.forms


def _spellings(values: Sequence[Any]) -> TextSet:
    """Return the texts of whole numbers and truth values; a fraction may have any text."""
    if any(type(value) is float or value == 0 for value in values):
        return any_text()
    return Language(map(text, values))


def _combinations(
    options: Sequence[Sequence[tuple[int, int, str]]], every_barrier: int, needed: Sequence[int]
) -> Iterator[list[str]]:
    """Yield a text for each part of a call such that no barrier stops it."""
    tries = 0
    waiting: list[tuple[int, int, list[str]]] = [(every_barrier, 0, [])]
    while waiting:
        about, matched, texts = waiting.pop()
        if len(texts) == len(options):
            if not any(
                about >> number & 1 and marks & matched == marks
                for number, marks in enumerate(needed)
            ):
                yield texts
            continue
        for barriers, marks, witness in options[len(texts)]:
            tries += 1
            if tries > _MAX_TRIES:
                raise TooManyStatesError
            waiting.append((about & barriers, matched | marks, [*texts, witness]))


def _values(leaf: _Leaf, witness: str) -> list[Any]:
    """Return values that have the text as a reading."""
    others = [value for value in leaf.values if text(value) == witness]
    if witness.startswith(("http://", "https://")):
        others.append(witness.partition(":")[2])  # `//host/…` is read as a URL too
    parts = witness.strip("/").split("/")
    tails = ["/".join(parts[place:]) for place in range(min(len(parts), 4))]
    # Absolute first: a relative path may be asked about instead of allowed.
    return [*others, *dict.fromkeys([f"/{tails[0]}", witness, *tails])]


def _arguments(leaves: Sequence[_Leaf], values: Sequence[Any]) -> dict[str, Any] | None:
    """Return arguments with these values, or None if two of them conflict."""
    arguments: dict[str, Any] = {}
    places = [leaf.keys for leaf in leaves]
    for number, (keys, value) in enumerate(zip(places, values, strict=True)):
        if not keys or any(
            len(longer) > len(keys) and longer[: len(keys)] == keys for longer in places
        ):
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
