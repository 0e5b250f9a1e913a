"""The decision about a call: the first rule that matches, else deny.

`Candidates` finds the rules that may match, by the prefixes of paths.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from nacre.core.bounded_cache import BoundedCache
from nacre.core.lazy_dataclasses import replace
from nacre.core.own_server_name import OWN
from nacre.firewall.rules.arguments.call_values import Values
from nacre.firewall.rules.condition import NO, YES, Condition, build_condition
from nacre.firewall.rules.globs.glob import PrefixIndex
from nacre.firewall.rules.policy import RuleNames, is_well_formed
from nacre.firewall.rules.received_origins import described, fits
from nacre.firewall.rules.rule import Decision, Kind, Rule, Subject, Surroundings

Conditions = Sequence[tuple[Condition, ...]]
Keys = tuple[str, ...]
_Aspect = tuple[Keys, bool]  # a place of arguments, and whether it is read as a path

_WORTH_AN_INDEX = 8  # rules with a test at one place; fewer are tried one by one
_MAX_INDEXES = 4


class CallValues:
    """The values of one call, read once for each place that rules test."""

    __slots__ = ("_arguments", "_values", "_where")

    def __init__(self, arguments: Mapping[str, Any], where: Surroundings) -> None:
        self._arguments = arguments
        self._where = where
        self._values: dict[Keys, Values] = {}

    def at(self, keys: Keys) -> Values:
        """Return the values of the call at a place."""
        values = self._values.get(keys)
        if values is None:
            values = self._values[keys] = Values(self._arguments, keys, self._where)
        return values


class Candidates:
    """The positions of the rules about one tool, in order, with an index of their paths.

    `named` are the arguments that rules about paths name, and `asking` the positions of the rules
    that may depend on what was received before a call.
    """

    __slots__ = ("_always", "_indexes", "asking", "has_indexes", "named", "positions")

    def __init__(
        self, positions: Sequence[int], conditions: Conditions, asking: tuple[int, ...]
    ) -> None:
        self.positions = tuple(positions)
        self.asking = asking
        self.named = frozenset(
            condition.keys[-1]
            for position in positions
            for condition in conditions[position]
            if condition.is_about_paths and condition.keys[-1] != "*"
        )
        indexed = {position: _indexable(conditions[position]) for position in positions}
        counts = Counter(aspect for forms in indexed.values() for aspect in forms)
        chosen = [
            aspect for aspect, count in counts.most_common(_MAX_INDEXES) if count >= _WORTH_AN_INDEX
        ]
        entries: dict[_Aspect, list[tuple[int, Sequence[str]]]] = {aspect: [] for aspect in chosen}
        always = []
        for position in positions:
            aspect = next(
                (candidate for candidate in chosen if candidate in indexed[position]), None
            )
            if aspect is None:
                always.append(position)
            else:
                entries[aspect].append((position, indexed[position][aspect]))
        self._always = tuple(always)
        self._indexes = [(*aspect, PrefixIndex(rows)) for aspect, rows in entries.items() if rows]
        self.has_indexes = bool(self._indexes)

    def select(self, values: CallValues) -> Sequence[int]:
        """Return the positions of the rules that may match these values, in order."""
        hits: set[int] = set()
        for keys, as_path, index in self._indexes:
            for value in values.at(keys).every:
                read = value.read(as_path=as_path)
                if not read.complete or read.relative:
                    return self.positions
                hits |= index.find(read.possible)
        if not hits:
            return self._always
        hits.update(self._always)
        return sorted(hits)


def _indexable(conditions: tuple[Condition, ...]) -> dict[_Aspect, Sequence[str]]:
    """Return the globs by which a rule can be indexed, for each place that it tests."""
    return {
        (condition.keys, condition.as_path): condition.forms
        for condition in conditions
        if condition.has_only_globs and condition.forms
    }


NO_RULE = Decision("deny", None, None, "Blocked by policy (no rule matches)")
MALFORMED = Decision("deny", None, None, "Blocked by policy (the call is malformed)")
_UNKNOWN_BASE = "the base from which a path in the call begins is not known"
_REMEMBERED_TOOLS = 4096  # a flood of invented names must not fill the memory
_REMEMBERED_SELECTIONS = 512


class Engine:
    """The rules of one policy, compiled for the servers at one place.

    The rules about a tool are found by the prefixes of their names, and cached. Among many
    rules about one tool, those that can match are found by the prefixes of their paths. So
    the cost of a decision hardly depends on the number of rules.
    """

    def __init__(
        self, rules: Sequence[Rule], where: Surroundings, named: Collection[str] | None = None
    ) -> None:
        self.rules = tuple(rules)
        self._named = named  # the servers that texts may name, None for all
        self.where = where = _with_slashes(where)
        self._own = where._replace(opens_files=False)
        self.conditions: list[tuple[Condition, ...]] = [
            tuple([build_condition(test, rule.action, where) for test in rule.tests])
            for rule in self.rules
        ]
        self._reads_origins = [rule.reads_origins for rule in self.rules]
        self._only = [None if rule.only is None else frozenset(rule.only) for rule in self.rules]
        self._decisions = [decision_of(rule) for rule in self.rules]
        self._names = RuleNames(self.rules)
        self._tools: BoundedCache[tuple[Kind, str, str], Candidates] = BoundedCache(
            _REMEMBERED_TOOLS
        )
        self._selections: BoundedCache[tuple[int, ...], Candidates] = BoundedCache(
            _REMEMBERED_SELECTIONS
        )

    def decide(self, subject: Subject) -> Decision:
        """Return the decision about a call."""
        if not is_well_formed(subject):
            return MALFORMED
        position, is_sure = self.first_match(subject)
        if position is None:
            return NO_RULE
        decision = self._decisions[position] if is_sure else _prompt(self.rules[position])
        if subject.received and self._reads_origins[position]:
            return replace(
                decision, text=f"{decision.text} ({described(subject.received, self._named)})"
            )
        return decision

    def position_of(self, subject: Subject) -> int | None:
        """Return the position of the first rule that surely matches the call, or None."""
        if not is_well_formed(subject):
            return None
        position, is_sure = self.first_match(subject)
        return position if is_sure else None

    def first_match(self, subject: Subject) -> tuple[int | None, bool]:
        """Return the position of the rule that decides about the call, or None.

        The second value is False if the rule allows the call only from some bases of the
        server, and the bases are not known: then a person is asked.
        """
        kind, name, server, arguments, paths, received = subject
        values = CallValues(arguments, self.where_of(server))
        candidates = self._tools.get((kind, server, name)) or self.candidates(kind, name, server)
        named = candidates.named | paths if paths else candidates.named
        is_sure = True
        for position in (
            candidates.select(values) if candidates.has_indexes else candidates.positions
        ):
            result = YES
            for condition in self.conditions[position]:
                holds = condition.holds(values.at(condition.keys), named)
                if holds != YES:
                    result = holds
                    if holds == NO:
                        break
            if result == NO:
                continue
            if self._reads_origins[position] and not fits(self.rules[position], received):
                continue
            only = self._only[position]
            if only is not None and not has_only(arguments, only, kind):
                continue
            if self.rules[position].action == "allow":
                return position, is_sure and result == YES
            if result == YES:
                return position, True
            is_sure = False
        return None, True

    def where_of(self, server: str) -> Surroundings:
        """Return the facts about a server; a Being's own tools open no files."""
        return self._own if server == OWN else self.where

    def reads_origins(self, kind: Kind, name: str, server: str) -> bool:
        """Tell whether a rule about calls of this name depends on what the caller has received."""
        return bool(self.candidates(kind, name, server).asking)

    def windows(self, subject: Subject, *, reads_arguments: bool) -> tuple[bool, int]:
        """Return the windows of the rules by which received content may decide about a call.

        That is whether such a rule has no window, and the longest one, else 0. With
        `reads_arguments` only rules that may match the arguments count.
        """
        kind, name, server, arguments, paths, _ = subject
        candidates = self.candidates(kind, name, server)
        asking: Sequence[int] = candidates.asking
        if asking and reads_arguments and all(self.conditions[position] for position in asking):
            values = CallValues(arguments, self.where_of(server))
            named = candidates.named | paths
            asking = [position for position in asking if self._may_hold(position, values, named)]
        windows = [self.rules[position].window for position in asking]
        return None in windows, max(filter(None, windows), default=0)

    def _may_hold(self, position: int, values: CallValues, named: frozenset[str]) -> bool:
        return all(
            condition.holds(values.at(condition.keys), named) != NO
            for condition in self.conditions[position]
        )

    def may_pass(self, kind: Kind, name: str, server: str) -> bool:
        """Tell whether a call of this name could be allowed or asked about with some arguments."""
        return self._names.may_pass(kind, name, server)

    def candidates(self, kind: Kind, name: str, server: str) -> Candidates:
        """Return the rules about calls of this name, cached."""
        key = (kind, server, name)
        candidates = self._tools.get(key)
        if candidates is None:
            candidates = self._select(kind, name, server)
            self._tools[key] = candidates
        return candidates

    def _select(self, kind: Kind, name: str, server: str) -> Candidates:
        positions = self._names.positions(kind, name, server)
        candidates = self._selections.get(positions)
        if candidates is None:
            candidates = Candidates(positions, self.conditions, self._asking(positions))
            self._selections[positions] = candidates
        return candidates

    def _asking(self, positions: Iterable[int]) -> tuple[int, ...]:
        asking = []
        for position in positions:
            if self._reads_origins[position]:
                asking.append(position)
            elif self.rules[position].is_unconditional:  # no later rule decides
                break
        return tuple(asking)


def _prompt(rule: Rule) -> Decision:
    """Return the decision about a call that the rule allows only from some bases."""
    origin = rule.origin or f"rule {rule.number}"
    return Decision(
        "prompt", rule.number, None, f"Approval needed by policy ({origin}: {_UNKNOWN_BASE})"
    )


def decision_of(rule: Rule) -> Decision:
    """Return the decision that a rule makes."""
    origin = rule.origin or f"rule {rule.number}"
    texts = {
        "allow": f"Allowed by policy ({origin})",
        "deny": f"Blocked by policy ({origin})",
        "prompt": f"Approval needed by policy ({origin})",
    }
    text = rule.description or texts[rule.action]
    return Decision(rule.action, rule.number, rule.description, text)


def has_only(arguments: Mapping[str, Any], names: Collection[str], kind: Kind) -> bool:
    """Tell whether a call has no other arguments, not counting `_meta` of a method."""
    return all(name in names or (kind == "method" and name == "_meta") for name in arguments)


def _with_slashes(where: Surroundings) -> Surroundings:
    home = None if where.home is None else where.home.replace("\\", "/")
    bases = tuple([base.replace("\\", "/") for base in where.bases])
    return where._replace(home=home, bases=bases)
