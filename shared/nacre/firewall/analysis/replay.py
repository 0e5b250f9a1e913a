"""Replay: the decisions of another policy about the calls that an audit holds.

A record has the names and kinds of the arguments but not their values. So a decision is
certain if no rule that may match tests a value, and open otherwise.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.analysis.received_cases import examples
from nacre.firewall.enforce.message import DECIDED_DOWN, DECIDED_UP
from nacre.firewall.rules.policy import Policy, is_about
from nacre.firewall.rules.received_origins import fits
from nacre.firewall.rules.rule import NOWHERE, Action, Kind, Rule, Subject, Surroundings

_ELSE = "…"  # marks in a record that some names were left out
_META = {"_meta"}
_NAME_LENGTH = 64  # longer names are cut in a record
_DECISIONS: frozenset[str] = frozenset(("allow", "deny", "prompt"))


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of an audit; `names` is None if the record leaves out some arguments.

    `received` is None if the record does not say what the caller had received: no rule of that
    time depended on it.
    """

    kind: Kind
    name: str
    server: str
    decided: str
    names: frozenset[str] | None
    arguments: Mapping[str, Any] | None = None
    profile: str = ""
    received: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ReplayedCalls:
    """Equal calls: their recorded decision, and the possible decisions of the new policy."""

    server: str
    name: str
    before: str
    after: tuple[Action, ...]
    rules: tuple[str, ...]
    count: int

    @property
    def is_changed(self) -> bool:
        """True if the new policy decides all of them differently."""
        return self.before not in self.after

    @property
    def is_open(self) -> bool:
        """True if the decision depends on values that the audit does not hold."""
        return len(self.after) > 1


def read_records(lines: Iterable[bytes], *, source: str) -> list[RecordedCall]:
    """Return the calls of an audit that needed a decision."""
    calls = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not _is_record(record):
            raise InvalidInputError(
                f"{source}: line {number} is not a record of an audit; give a file of the folder "
                "'audit' or of 'nacre audit export'"
            )
        call = _recorded(record)
        if call is not None:
            calls.append(call)
    return calls


def replay(
    policy: Policy,
    records: Iterable[RecordedCall],
    where: Callable[[str], Surroundings] = lambda _server: NOWHERE,
) -> list[ReplayedCalls]:
    """Decide every call again, and count equal calls, the most frequent first.

    `where` returns the facts about a server.
    """
    counted: Counter[tuple[str, str, str, tuple[Action, ...], tuple[str, ...]]] = Counter()
    places: dict[str, Surroundings] = {}
    for record in records:
        if record.server not in places:
            places[record.server] = where(record.server)
        rules = _deciding(_in_force(policy, record), record, places[record.server])
        actions = tuple(dict.fromkeys(action for action, _ in rules))
        origins = tuple(dict.fromkeys(origin for _, origin in rules))
        counted[(record.server, record.name, record.decided, actions, origins)] += 1
    return [ReplayedCalls(*key, count) for key, count in counted.most_common()]


def _in_force(policy: Policy, record: RecordedCall) -> Policy:
    """Return the policy that would decide: that of the caller's profile, if it is still there."""
    mine = (profile for profile in policy.profiles if profile.name == record.profile)
    profile = next(mine, None)
    return policy if profile is None else profile.policy


def _deciding(
    policy: Policy, record: RecordedCall, where: Surroundings
) -> list[tuple[Action, str]]:
    """Return each rule that may decide the call, with its action."""
    if record.arguments is not None:
        origins = {rule.number: rule.origin for rule in policy.rules}
        received = record.received
        cases = examples(policy.rules) if received is None else [received]
        decisions = [
            policy.decide(
                Subject(record.kind, record.name, record.server, record.arguments, received=case),
                where,
            )
            for case in cases
        ]
        return list(
            dict.fromkeys(
                (decision.action, origins.get(decision.rule or 0, "no rule"))
                for decision in decisions
            )
        )
    rules: list[tuple[Action, str]] = []
    for rule in policy.rules:
        if not is_about(rule, record.kind, record.name, record.server):
            continue
        if rule.reads_origins and record.received is not None:
            if not fits(rule, record.received):
                continue
            rule = rule.for_every_caller()
        if rule.is_unconditional:
            return [*rules, (rule.action, rule.origin)]
        if _may_hold(rule, record.names):
            rules.append((rule.action, rule.origin))
    return [*rules, ("deny", "no rule")]


def _may_hold(rule: Rule, names: frozenset[str] | None) -> bool:
    if names is None:
        return True
    if rule.only is not None and not names <= {name[:_NAME_LENGTH] for name in rule.only} | _META:
        return False
    return all(
        test.optional
        or test.keys[0][:_NAME_LENGTH] in names
        or (test.keys[0] == "*" and bool(names))
        for test in rule.tests
    )


def _is_record(record: Any) -> TypeGuard[dict[str, Any]]:
    """Tell whether a line is a record of an audit; a copy may come from anybody."""
    if not isinstance(record, dict) or not isinstance(record.get("outcome"), str):
        return False
    texts = (record.get(name, "") for name in ("method", "server", "tool"))
    return all(isinstance(text, str) for text in texts) and isinstance(
        record.get("shape") or {}, dict
    )


def _recorded(record: Mapping[str, Any]) -> RecordedCall | None:
    method, outcome, server = record.get("method"), record["outcome"], record.get("server", "")
    if outcome not in _DECISIONS or method not in DECIDED_UP | DECIDED_DOWN:
        return None
    is_tool = method == "tools/call"
    name = record.get("tool", "") if is_tool else method
    shape = record.get("shape") or {}
    names = None if _ELSE in shape else frozenset(shape)
    # A record with an approval was a prompt, whatever its outcome.
    decided = "prompt" if "approval" in record else outcome
    values = record.get("arguments")
    arguments = values if isinstance(values, dict) else None
    kind: Kind = "tool" if is_tool else "method"
    received = record.get("received")
    origins = None
    if isinstance(received, list) and all(isinstance(text, str) for text in received):
        origins = frozenset(received)
    profile = str(record.get("profile", ""))
    return RecordedCall(kind, name, server, decided, names, arguments, profile, origins)
