"""A policy before it is put in force: what is wrong with it, and what would come out otherwise."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from nacre.console.line_diff import Line, difference
from nacre.core.errors import InvalidInputError, NacreError, PolicyError
from nacre.firewall.analysis.coverage import coverage
from nacre.firewall.analysis.explain import explain
from nacre.firewall.analysis.findings import Finding
from nacre.firewall.analysis.lint import lint
from nacre.firewall.analysis.replay import Recorded, Replayed, read_records, replayed
from nacre.firewall.analysis.sample_call import DescribedCall, decide, subject_of
from nacre.firewall.enforce.message import parse
from nacre.firewall.pins import GLOBAL, Pins
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import Action, Rule
from nacre.ports.audit import AuditRecords
from nacre.ports.items.table import Table

OWN = "nacre"
_REPLAYED = 1_000  # records, the newest


@dataclass(frozen=True, slots=True)
class Trial:
    """A call that an owner tries: its parts as they were typed."""

    tool: str = ""
    server: str = ""
    arguments: str = ""

    def call(self) -> DescribedCall:
        """Return the call; InvalidInputError for arguments that are no JSON object."""
        try:
            given = parse(self.arguments.encode()) if self.arguments.strip() else {}
        except NacreError as error:
            said = str(error).replace("the message", "the text")
            raise InvalidInputError(f"the arguments: {said}") from error
        if not isinstance(given, Mapping):
            raise InvalidInputError('the arguments are a JSON object, such as {"path": "/tmp"}')
        params = {"name": self.tool, "arguments": given}
        return DescribedCall("tools/call", params, self.server or OWN)


@dataclass(frozen=True, slots=True)
class Told:
    """What a policy makes of a call, and why."""

    action: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of a tool's calls, now and with the new rules."""

    server: str
    tool: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Moved:
    """Recorded calls that the rules in force and the new ones decide in two ways, or might.

    Several actions: it depends on values, which no record holds.
    """

    server: str
    name: str
    before: tuple[Action, ...]
    after: tuple[Action, ...]
    rules: tuple[str, ...]  # the new ones that decide
    count: int


@dataclass(frozen=True, slots=True)
class Review:
    """A text that loads, held against what is in force."""

    policy: Policy
    findings: tuple[Finding, ...]
    lines: tuple[Line, ...]
    fates: tuple[Fate, ...]  # of tools whose calls end otherwise
    unmentioned: tuple[str, ...]
    moved: tuple[Moved, ...]
    recorded: int


def review(
    text: str,
    before: str,
    now: Policy,
    *,
    tools: Mapping[str, Iterable[str]],
    records: AuditRecords | None,
    being_id: str = "",
) -> Review:
    """Return what a text would change; PolicyError for one that does not load."""
    policy = load_policy(text, source="policy")
    found = {(each.server, each.tool): each.fate for each in coverage(policy, tools).tools}
    known = {(each.server, each.tool): each.fate for each in coverage(now, tools).tools}
    fates = [Fate(*key, known[key], fate) for key, fate in found.items() if known[key] != fate]
    seen = [] if records is None else _recorded(records, being_id)
    return Review(
        policy=policy,
        findings=lint(policy),
        lines=difference(before, text),
        fates=tuple(fates),
        unmentioned=tuple(
            f"{server}/{tool}" for (server, tool), fate in found.items() if fate == "unmentioned"
        ),
        moved=moved(now, policy, seen),
        recorded=len(seen),
    )


def moved(now: Policy, then: Policy, records: Iterable[Recorded]) -> tuple[Moved, ...]:
    """Return the calls that would be decided otherwise than now, the most frequent first."""
    counted = Counter((each.kind, each.server, each.name, each.names) for each in records)
    found = []
    for (kind, server, name, names), count in counted.most_common():
        record = Recorded(kind, name, server, "", names)
        [before], [after] = replayed(now, [record]), replayed(then, [record])
        # Where values decide, other rules may make something else of the same actions.
        is_same = before.after == after.after and (
            not after.is_open or _deciding(now, before) == _deciding(then, after)
        )
        if not is_same:
            found.append(Moved(server, name, before.after, after.after, after.rules, count))
    return tuple(found)


def _deciding(policy: Policy, found: Replayed) -> list[Rule]:
    """Return the rules that decide, without what only names them."""
    return [
        replace(rule, number=0, origin="", description=None)
        for rule in policy.rules
        if rule.origin in found.rules
    ]


def tried(policy: Policy, trial: Trial) -> Told:
    """Return what a policy makes of a call."""
    call = trial.call()
    decision = decide(call, policy)
    subject = subject_of(call)
    found = None if subject is None else explain(policy, subject, call.where)
    if found is None or found.decision != decision:  # refused before a rule was asked
        return Told(decision.action, (decision.text,))
    return Told(decision.action, tuple(found.lines()))


def known_tools(own: Sequence[str], table: Table) -> dict[str, list[str]]:
    """Return the tools that rules may be about: the Being's own, and those that were pinned."""
    pins = Pins(table, GLOBAL)
    return {OWN: sorted(own), **{server: sorted(pins.of(server)) for server in pins.servers()}}


def advice(error: PolicyError) -> str:
    """Return what is wrong with a text, for the page that shows it."""
    return str(error).removeprefix("policy: ")


def _recorded(records: AuditRecords, being_id: str) -> list[Recorded]:
    """Return the newest calls of a Being; on a laptop others are recorded beside them."""
    own = f'"being":"{being_id}"'.encode()
    lines = islice((line for line in records.newest() if own in line), _REPLAYED)
    found = []
    for line in lines:
        # A damaged record is told of on the page of the audit.
        with suppress(InvalidInputError):
            found += read_records([line], source="the audit")
    return found
