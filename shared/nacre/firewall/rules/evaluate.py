"""Deciding: the first rule that matches a call, else deny."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nacre.core.own_server_name import OWN
from nacre.firewall.rules.condition import NO, YES, Condition, prepared
from nacre.firewall.rules.globs.prefix_index import PrefixIndex
from nacre.firewall.rules.rule import Decision, Kind, Rule, Subject, Surroundings
from nacre.firewall.rules.rule_lookup import Candidates, Seen
from nacre.firewall.rules.subjects import is_about, spellings_of_name

NO_RULE = Decision("deny", None, None, "Blocked by policy (no rule matches)")
MALFORMED = Decision("deny", None, None, "Blocked by policy (the call is malformed)")
_WHY = "the base from which a path in the call begins is not known"
_REMEMBERED_TOOLS = 4096  # a flood of invented names must not fill the memory
_REMEMBERED_SELECTIONS = 512


class Engine:
    """The rules of one policy, prepared for the servers of one place.

    What a tool's rules are is found by the beginnings of their names and remembered;
    among many rules about one tool, those that can match are found by the beginnings
    of their paths. So a decision costs about the same whatever the number of rules.
    """

    def __init__(self, rules: Sequence[Rule], where: Surroundings) -> None:
        self.rules = tuple(rules)
        self.where = where = _with_slashes(where)
        self._own = where._replace(opens_files=False)
        self.conditions: list[tuple[Condition, ...]] = [
            tuple([prepared(test, rule.action, where) for test in rule.tests])
            for rule in self.rules
        ]
        self._only = [None if rule.only is None else frozenset(rule.only) for rule in self.rules]
        self._decisions = [decision_of(rule) for rule in self.rules]
        self._names = PrefixIndex([(place, (rule.name,)) for place, rule in enumerate(self.rules)])
        self._tools: dict[tuple[Kind, str, str], Candidates] = {}
        self._selections: dict[tuple[int, ...], Candidates] = {}

    def decide(self, subject: Subject) -> Decision:
        """Return what happens to the call."""
        if not is_well_formed(subject):
            return MALFORMED
        place, is_sure = self.first(subject)
        if place is None:
            return NO_RULE
        return self._decisions[place] if is_sure else _asking(self.rules[place])

    def place_of(self, subject: Subject) -> int | None:
        """Return where the rule stands that surely matches the call first, if one does."""
        if not is_well_formed(subject):
            return None
        place, is_sure = self.first(subject)
        return place if is_sure else None

    def first(self, subject: Subject) -> tuple[int | None, bool]:
        """Return where the rule stands that decides about the call, if one does.

        The second value is False where the rule allows the call only from some bases of
        the server, and nobody knows its bases: then somebody is asked.
        """
        kind, name, server, arguments, paths = subject
        seen = Seen(arguments, self.where_of(server))
        known = self._tools.get((kind, server, name)) or self.candidates(kind, name, server)
        named = known.named | paths if paths else known.named
        is_sure = True
        for place in known.pointed_to(seen) if known.has_indexes else known.places:
            result = YES
            for condition in self.conditions[place]:
                holds = condition.holds(seen.at(condition.keys), named)
                if holds != YES:
                    result = holds
                    if holds == NO:
                        break
            if result == NO:
                continue
            only = self._only[place]
            if only is not None and not has_only(arguments, only, kind):
                continue
            if self.rules[place].action == "allow":
                return place, is_sure and result == YES
            if result == YES:
                return place, True
            is_sure = False
        return None, True

    def where_of(self, server: str) -> Surroundings:
        """Return the facts that count for a server; a Being's own tools open no files."""
        return self._own if server == OWN else self.where

    def may_pass(self, kind: Kind, name: str, server: str) -> bool:
        """Tell whether any arguments could get a call of this name allowed or asked about."""
        if not is_well_formed(Subject(kind, name, server, {})):
            return False
        for place in self.candidates(kind, name, server).places:
            if self.rules[place].action != "deny":
                return True
            if self.rules[place].is_unconditional:
                return False
        return False

    def candidates(self, kind: Kind, name: str, server: str) -> Candidates:
        """Return the rules about calls of this name."""
        key = (kind, server, name)
        found = self._tools.get(key)
        if found is None:
            found = self._select(kind, name, server)
            if len(self._tools) >= _REMEMBERED_TOOLS:
                self._tools.clear()
            self._tools[key] = found
        return found

    def _select(self, kind: Kind, name: str, server: str) -> Candidates:
        likely = sorted(self._names.find(spellings_of_name(kind, name, server)))
        places = tuple(
            [place for place in likely if is_about(self.rules[place], kind, name, server)]
        )
        found = self._selections.get(places)
        if found is None:
            found = Candidates(places, self.conditions)
            if len(self._selections) >= _REMEMBERED_SELECTIONS:
                self._selections.clear()
            self._selections[places] = found
        return found


def _asking(rule: Rule) -> Decision:
    """Return the decision about a call that the rule allows only from some bases."""
    origin = rule.origin or f"rule {rule.number}"
    return Decision("prompt", rule.number, None, f"Approval needed by policy ({origin}: {_WHY})")


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
    if not isinstance(name, str) or not name:
        return False
    if type(arguments) is not dict and not isinstance(arguments, Mapping):
        return False
    return "\0" not in name and (name.isascii() or not _has_surrogate(name))


def has_only(arguments: Mapping[str, Any], names: Collection[str], kind: Kind) -> bool:
    """Tell whether a call has no other arguments; `_meta` of a method is none."""
    return all(name in names or (kind == "method" and name == "_meta") for name in arguments)


def _with_slashes(where: Surroundings) -> Surroundings:
    home = None if where.home is None else where.home.replace("\\", "/")
    bases = tuple([each.replace("\\", "/") for each in where.bases])
    return where._replace(home=home, bases=bases)


def _has_surrogate(name: str) -> bool:
    return any("\ud800" <= each <= "\udfff" for each in name)
