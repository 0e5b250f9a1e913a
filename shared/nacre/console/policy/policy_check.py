"""The review of a policy before it is put in force: warnings, and decisions that would change."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from nacre.console.line_diff import Line, difference
from nacre.core.errors import InvalidInputError, NacreError, PolicyError
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.firewall.analysis.coverage import coverage
from nacre.firewall.analysis.explain import explain
from nacre.firewall.analysis.findings import Finding
from nacre.firewall.analysis.lint import lint
from nacre.firewall.analysis.replay import RecordedCall, ReplayedCalls, read_records, replay
from nacre.firewall.analysis.sample_call import DescribedCall, decide, subject_of
from nacre.firewall.enforce.message import parse
from nacre.firewall.pins import GLOBAL, Pins
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.rules.policy import Policy
from nacre.firewall.rules.rule import NOTHING, Action, Rule
from nacre.ports.audit import AuditRecords
from nacre.ports.items.table import Table

OWN = "nacre"
_REPLAYED = 1_000  # records, the newest


@dataclass(frozen=True, slots=True)
class Trial:
    """A test call: its parts as the owner typed them."""

    tool: str = ""
    server: str = ""
    arguments: str = ""

    def call(self) -> DescribedCall:
        """Return the call; raises InvalidInputError if the arguments are not a JSON object."""
        try:
            arguments = parse(self.arguments.encode()) if self.arguments.strip() else {}
        except NacreError as error:
            reason = str(error).replace("the message", "the text")
            raise InvalidInputError(f"the arguments: {reason}") from error
        if not isinstance(arguments, Mapping):
            raise InvalidInputError('the arguments must be a JSON object, such as {"path": "/tmp"}')
        params = {"name": self.tool, "arguments": arguments}
        return DescribedCall("tools/call", params, self.server or OWN, received=NOTHING)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The decision of a policy about a test call, with its explanation."""

    action: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A tool whose calls are decided differently with the new rules."""

    server: str
    tool: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedCall:
    """Recorded calls that the new rules decide differently, or might.

    Several actions mean that the decision depends on values, which records do not contain.
    """

    server: str
    name: str
    before: tuple[Action, ...]
    after: tuple[Action, ...]
    rules: tuple[str, ...]  # the new ones that decide
    count: int


@dataclass(frozen=True, slots=True)
class Review:
    """A valid text, compared with the rules in force."""

    policy: Policy
    findings: tuple[Finding, ...]
    lines: tuple[Line, ...]
    fates: tuple[ToolChange, ...]  # tools whose calls are decided differently
    unmentioned: tuple[str, ...]
    changed_calls: tuple[ChangedCall, ...]
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
    """Return the review of a text; raises PolicyError for one that does not load."""
    policy = load_policy(text, source="policy")
    after, current = _fates(policy, tools), _fates(now, tools)
    fates = [
        ToolChange(*key, current[key], fate) for key, fate in after.items() if current[key] != fate
    ]
    # After external results, where that makes a difference that the line above does not show.
    later, current_later = _fates(policy, tools, tainted=True), _fates(now, tools, tainted=True)
    fates += [
        ToolChange(server, f"{tool}, after results of external servers", earlier, fate)
        for (server, tool), fate in later.items()
        if (earlier := current_later[server, tool]) != fate
        and (earlier, fate) != (current[server, tool], after[server, tool])
    ]
    recorded = [] if records is None else _recorded(records, being_id)
    return Review(
        policy=policy,
        findings=lint(policy),
        lines=difference(before, text),
        fates=tuple(fates),
        unmentioned=tuple(
            f"{server}/{tool}" for (server, tool), fate in after.items() if fate == "unmentioned"
        ),
        changed_calls=changed_calls(now, policy, recorded),
        recorded=len(recorded),
    )


def _fates(
    policy: Policy, tools: Mapping[str, Iterable[str]], *, tainted: bool = False
) -> dict[tuple[str, str], str]:
    return {
        (tool.server, tool.tool): (tool.tainted if tainted else None) or tool.fate
        for tool in coverage(policy, tools).tools
    }


def changed_calls(
    now: Policy, then: Policy, records: Iterable[RecordedCall]
) -> tuple[ChangedCall, ...]:
    """Return the calls that would be decided differently, the most frequent first."""
    counted = Counter(
        (call.kind, call.server, call.name, call.names, call.received) for call in records
    )
    changed = []
    for (kind, server, name, names, received), count in counted.most_common():
        record = RecordedCall(kind, name, server, "", names, received=received)
        [before], [after] = replay(now, [record]), replay(then, [record])
        # If values decide, different rules may lead to the same actions in other cases.
        is_same = before.after == after.after and (
            not after.is_open or _deciding(now, before) == _deciding(then, after)
        )
        if not is_same:
            changed.append(ChangedCall(server, name, before.after, after.after, after.rules, count))
    return tuple(changed)


def _deciding(policy: Policy, replayed: ReplayedCalls) -> list[Rule]:
    """Return the rules that decide, without their number, origin and description."""
    return [
        replace(rule, number=0, origin="", description=None)
        for rule in policy.rules
        if rule.origin in replayed.rules
    ]


def tried(policy: Policy, trial: Trial) -> TrialResult:
    """Return the decision of a policy about a test call."""
    call = trial.call()
    decision = decide(call, policy)
    subject = subject_of(call)
    explained = None if subject is None else explain(policy, subject, call.where)
    if explained is None or explained.decision != decision:  # refused before any rule
        return TrialResult(decision.action, (decision.text,))
    return TrialResult(decision.action, tuple(explained.lines()))


def known_tools(own_tools: Sequence[str], table: Table) -> dict[str, list[str]]:
    """Return the tools that rules can name: those of Beings, and the pinned ones."""
    pins = Pins(table, GLOBAL)
    return {
        OWN: sorted(own_tools),
        **{server: sorted(pins.of(server)) for server in pins.servers()},
    }


def advice(error: PolicyError) -> str:
    """Return the error text of a policy without its source."""
    return str(error).removeprefix("policy: ")


def _recorded(records: AuditRecords, being_id: str) -> list[RecordedCall]:
    """Return the newest recorded calls of one Being."""
    marker = f'"being":"{being_id}"'.encode()
    lines = islice((line for line in records.newest() if marker in line), _REPLAYED)
    calls = []
    for line in lines:
        # The audit page reports damaged records.
        with suppress(InvalidInputError):
            calls += read_records([line], source="the audit")
    return calls
