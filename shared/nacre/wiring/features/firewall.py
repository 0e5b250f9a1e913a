"""The policy gate before every call: who decides, who is asked, and the audit on AWS."""

import json
import sys
from collections.abc import Callable, Mapping
from functools import cache
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from nacre.core.bounded_cache import BoundedCache
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.entry.entry_judge import EntryJudge
from nacre.firewall.policies.stored_policy import ScopedPolicy
from nacre.wiring.features.policies import to_stderr

if TYPE_CHECKING:
    from nacre.core.clock import Clock
    from nacre.firewall.approvals.approver import Approver
    from nacre.firewall.audit.entry import Record
    from nacre.firewall.audit.log import AuditTrail
    from nacre.firewall.audit.stored_log import Appends
    from nacre.firewall.entry.cut_results import CutResults
    from nacre.firewall.entry.mounted_content import MountedContent
    from nacre.firewall.entry.mounted_servers import Mounts
    from nacre.firewall.entry.received_results import ReceivedResults
    from nacre.firewall.limits.call_limits import CallLimits, Running, Spent
    from nacre.firewall.limits.whole_results import WholeResults
    from nacre.firewall.policies.stored_policy import Policies
    from nacre.firewall.rules.limit import Limit
    from nacre.firewall.rules.policy import Policy
    from nacre.firewall.rules.rule import Kind, Subject, Surroundings
    from nacre.firewall.rules.sections import Settings as PolicySettings
    from nacre.ports.untrusted_results import UntrustedResults
    from nacre.wiring.ports import Ports

_MAX_BEINGS = 256  # whose trails one process keeps; a chain that is dropped has ended


def build_entry(
    ports: "Ports",
    policies: "Policies",
    mounts: "Mounts",
    untrusted_results: "Callable[[], UntrustedResults]",
) -> EntryJudge:
    """Return the part that decides about each call of the MCP server, and records it.

    `mounts` tells what belongs to other servers, and `untrusted_results` what callers have got
    from them.
    """
    from nacre.core.own_server_name import OWN

    limits = LateLimits(ports)

    @cache
    def judge(being_id: str) -> Judge:
        source = ScopedPolicy(policies, being_id or None)
        approver = LateApprover(ports, lambda: source.current().settings)
        return Judge(
            source,
            ports.trail,
            to_stderr,
            OWN,
            approver=approver,
            commands=ports.commands,
            limits=limits,
        )

    @cache
    def content() -> "MountedContent":
        from nacre.firewall.entry.mounted_content import MountedContent
        from nacre.firewall.pins import GLOBAL, Pins

        return MountedContent(lambda: Pins(ports.data, GLOBAL), screening=ports.screening)

    @cache
    def results() -> "CutResults":
        from nacre.firewall.entry.cut_results import CutResults

        return CutResults(cache(lambda: whole_results(ports)))

    @cache
    def received() -> "ReceivedResults":
        from nacre.firewall.entry.received_results import ReceivedResults

        return ReceivedResults(untrusted_results, ports.clock)

    return EntryJudge(
        judge,
        mounts=mounts,
        content=content,
        reading=ports.screening,
        results=results,
        received=received,
    )


class LateApprover:
    """Asks people for approval; what that needs is loaded when somebody has to be asked.

    `settings` are those of the policy in force.
    """

    def __init__(self, ports: "Ports", settings: "Callable[[], PolicySettings]") -> None:
        self._load = cache(lambda: _approver(ports, settings))

    def ask(self, request: Any, *, can_elicit: bool) -> Any:
        """Ask whether a call may be made."""
        return self._load().ask(request, can_elicit=can_elicit)

    def answered(self, request: Any, ticket: str, result: Mapping[str, Any]) -> Any:
        """Take an answer to a question."""
        return self._load().answered(request, ticket, result)

    def look(self, request: Any, ticket: str) -> Any:
        """Return the state of a question."""
        return self._load().look(request, ticket)


class LateLimits:
    """Counts calls for limits; what that needs is loaded when a policy has one."""

    def __init__(self, ports: "Ports") -> None:
        self._load = cache(lambda: _limits(ports))

    def may_count(self, policy: "Policy", kind: "Kind", name: str, server: str) -> bool:
        """Tell whether a limit is about calls of this name."""
        return self._load().may_count(policy, kind, name, server)

    def result_limit(
        self, policy: "Policy", subject: "Subject", where: "Surroundings"
    ) -> "Limit | None":
        """Return the smallest limit of the size of a call's result."""
        return self._load().result_limit(policy, subject, where)

    def count(
        self, policy: "Policy", subject: "Subject", where: "Surroundings", **facts: Any
    ) -> "tuple[Spent | None, Running | None]":
        """Count a call, or return a limit that it is above."""
        return self._load().count(policy, subject, where, **facts)

    def end_all(self) -> None:
        """End the calls of this process, which closes."""
        if self._load.cache_info().currsize:
            self._load().end_all()


def _limits(ports: "Ports") -> "CallLimits":
    from nacre.firewall.limits.call_limits import CallLimits

    # A count that is lost with the power is no harm, and a call need not wait for the disk.
    return CallLimits(ports.non_durable_data, ports.clock, to_stderr)


def whole_results(ports: "Ports") -> "WholeResults":
    """Return the store of results that were cut."""
    from nacre.firewall.limits.whole_results import WholeResults

    return WholeResults(lambda: ports.blobs, ports.clock, ports.rng)


def _approver(ports: "Ports", settings: "Callable[[], PolicySettings]") -> "Approver":
    from nacre.core.ids import short_id
    from nacre.firewall.approvals.service import Approvals

    return Approvals(
        ports.data,
        settings,
        clock=ports.clock,
        rng=ports.rng,
        # On a stack the calls of one client reach several processes, and waiting is paid for.
        session=None if ports.is_stack else short_id(ports.rng),
        commands=ports.commands,
        holds=not ports.is_stack,
    )


class BeingTrails:
    """The audit of one execution environment: a chain for each Being, in the item store."""

    def __init__(self, table: "Appends", stack: str, clock: "Clock") -> None:
        self._table = table
        self._stack = stack
        self._clock = clock
        self._trails: BoundedCache[str, AuditTrail] = BoundedCache(_MAX_BEINGS)

    def record(self, entry: "Record") -> str:
        """Keep one record in the chain of its Being."""
        trail = self._trails.get(entry.being)
        if trail is None:
            trail = self._trails[entry.being] = self._opened(entry.being)
        return trail.record(entry)

    def _opened(self, being_id: str) -> "AuditTrail":
        from nacre.core.ids import ulids
        from nacre.firewall.audit.log import AuditTrail
        from nacre.firewall.audit.stored_log import ItemAudit

        log = ItemAudit(
            self._table,
            being_id or "nobody",
            clock=self._clock,
            new_writer=lambda: ulids(self._clock(), SystemRandom(), 1)[0],
        )
        return AuditTrail(log, self._clock, log_line=self._to_log)

    def _to_log(self, facts: Mapping[str, Any]) -> None:
        """Write a record to the function's log as a structured line.

        The shape of the arguments is left out, because the caller chooses their names.
        """
        facts = {name: value for name, value in facts.items() if name != "shape"}
        if self._stack and facts["outcome"] == "deny" and facts.get("enforced", True):
            from nacre.core.metrics import POLICY_DENIALS, count

            count(self._stack, "audit", {POLICY_DENIALS: 1}, **facts)
            return
        line = {"level": "INFO", "event": "audit", **facts}
        print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201 - as above
