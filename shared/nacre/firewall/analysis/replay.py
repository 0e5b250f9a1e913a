"""What another policy would make of the calls that an audit holds.

A record has the names and kinds of the arguments and none of their values. So what comes
out is certain where no rule that may match looks at a value, and open where one does.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from nacre.core.errors import InvalidInputError
from nacre.firewall.enforce.message import DECIDED_DOWN, DECIDED_UP
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOWHERE, Action, Kind, Rule, Subject, Surroundings
from nacre.firewall.rules.subjects import is_about

_ELSE = "…"  # stands among the names for those that were not kept
_META = {"_meta"}
_NAME_LENGTH = 64  # what is kept of a name
_DECISIONS: frozenset[str] = frozenset(("allow", "deny", "prompt"))


@dataclass(frozen=True, slots=True)
class Recorded:
    """One call of an audit; `names` is None where it had more arguments than were kept."""

    kind: Kind
    name: str
    server: str
    decided: str
    names: frozenset[str] | None
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """Calls that were decided in one way, and would be in another, or might be."""

    server: str
    name: str
    before: str
    after: tuple[Action, ...]
    rules: tuple[str, ...]
    count: int

    @property
    def is_changed(self) -> bool:
        """Whether none of them would be decided as it was."""
        return self.before not in self.after

    @property
    def is_open(self) -> bool:
        """Whether it depends on values that the audit does not hold."""
        return len(self.after) > 1


def read_records(lines: Iterable[bytes], *, source: str) -> list[Recorded]:
    """Return the calls of an audit; what needed no decision is left out."""
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not _is_record(record):
            raise InvalidInputError(
                f"{source}: line {number} is no record of an audit; give a file of the folder "
                "'audit' or of 'nacre audit export'"
            )
        recorded = _recorded(record)
        if recorded is not None:
            found.append(recorded)
    return found


def replayed(
    policy: Policy,
    records: Iterable[Recorded],
    where: Callable[[str], Surroundings] = lambda _server: NOWHERE,
) -> list[Replayed]:
    """Decide every call anew; equal ones stand together, the most frequent first.

    `where` gives the facts about a server.
    """
    counted: Counter[tuple[str, str, str, tuple[Action, ...], tuple[str, ...]]] = Counter()
    places: dict[str, Surroundings] = {}
    for record in records:
        if record.server not in places:
            places[record.server] = where(record.server)
        rules = _deciding(policy, record, places[record.server])
        actions = tuple(dict.fromkeys(action for action, _ in rules))
        origins = tuple(dict.fromkeys(origin for _, origin in rules))
        counted[(record.server, record.name, record.decided, actions, origins)] += 1
    return [Replayed(*key, count) for key, count in counted.most_common()]


def _deciding(policy: Policy, record: Recorded, where: Surroundings) -> list[tuple[Action, str]]:
    """Return each rule that may decide the call, with its action."""
    if record.arguments is not None:
        subject = Subject(record.kind, record.name, record.server, record.arguments)
        decision = policy.decide(subject, where)
        origins = {rule.number: rule.origin for rule in policy.rules}
        return [(decision.action, origins.get(decision.rule or 0, "no rule"))]
    found: list[tuple[Action, str]] = []
    for rule in policy.rules:
        if not is_about(rule, record.kind, record.name, record.server):
            continue
        if rule.is_unconditional:
            return [*found, (rule.action, rule.origin)]
        if _may_hold(rule, record.names):
            found.append((rule.action, rule.origin))
    return [*found, ("deny", "no rule")]


def _may_hold(rule: Rule, names: frozenset[str] | None) -> bool:
    if names is None:
        return True
    if rule.only is not None and not names <= {each[:_NAME_LENGTH] for each in rule.only} | _META:
        return False
    return all(
        test.optional
        or test.keys[0][:_NAME_LENGTH] in names
        or (test.keys[0] == "*" and bool(names))
        for test in rule.tests
    )


def _is_record(record: Any) -> TypeGuard[dict[str, Any]]:
    """Tell whether a line is a record as the audit writes them; anybody may give a copy."""
    if not isinstance(record, dict) or not isinstance(record.get("outcome"), str):
        return False
    texts = (record.get(name, "") for name in ("method", "server", "tool"))
    return all(isinstance(each, str) for each in texts) and isinstance(
        record.get("shape") or {}, dict
    )


def _recorded(record: Mapping[str, Any]) -> Recorded | None:
    method, outcome, server = record.get("method"), record["outcome"], record.get("server", "")
    if outcome not in _DECISIONS or method not in DECIDED_UP | DECIDED_DOWN:
        return None
    is_tool = method == "tools/call"
    name = record.get("tool", "") if is_tool else method
    shape = record.get("shape") or {}
    names = None if _ELSE in shape else frozenset(shape)
    # An approval is how a prompt ended: the policy had said neither yes nor no.
    decided = "prompt" if "approval" in record else outcome
    kept = record.get("arguments")
    arguments = kept if isinstance(kept, dict) else None
    return Recorded("tool" if is_tool else "method", name, server, decided, names, arguments)
