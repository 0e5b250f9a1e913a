"""One decision, with its approval and its record: the same at every place of enforcement."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nacre.core.errors import NacreError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.firewall.approvals.approver import (
    Approval,
    ApprovalRequest,
    Approver,
    Granted,
    Nobody,
    Question,
    Refused,
    Waiting,
)
from nacre.firewall.audit.entry import AuditEntry, Direction, Outcome, Record
from nacre.firewall.content.digests import arguments_sha256, masked_name, shape
from nacre.firewall.enforce.large_calls import known_decision
from nacre.firewall.policies.live_policy import PolicySource
from nacre.firewall.rules.policy import Policy, asking_rule, names_tool
from nacre.firewall.rules.rule import NOWHERE, Action, Decision, Kind, Subject, Surroundings
from nacre.firewall.suggested_commands import Commands

if TYPE_CHECKING:
    from nacre.firewall.rules.limit import Limit

_COMMANDS = Commands()
_FAULT = Decision("deny", None, None, "Blocked by policy (the call could not be decided)")
_UNAUDITED = "Blocked by policy (the audit cannot be written; the server's log says why)"
_UNCOUNTED = "Blocked by policy (its limits cannot be counted now; the server's log says why)"
_UNNAMED = (
    "Approval needed by policy (no rule names this tool, and it was called through another one)"
)
_UNKNOWN = "Blocked by policy (no policy can be read; the server's log says why)"


class Trail(Protocol):
    """Takes records; AuditTrail is one."""

    def record(self, entry: Record) -> str:
        """Keep one record and return its id; raises UnavailableError when it is not kept."""
        ...


class Spent(Protocol):
    """A limit that is used up: what happens to the call, and the reason for its caller."""

    @property
    def action(self) -> Action:
        """The decision about the call: to deny it, or to ask."""
        ...

    @property
    def text(self) -> str:
        """The reason for the caller."""
        ...


class Running(Protocol):
    """A call that has places of limits, or whose result limits count."""

    @property
    def counts_bytes(self) -> bool:
        """True if limits count the bytes of the result."""
        ...

    def end(self, returned: int = 0) -> None:
        """Count the bytes of the result and give the places back; only the first time counts."""
        ...


class Limits(Protocol):
    """Counts calls; CallLimits does."""

    def may_count(self, policy: Policy, kind: Kind, name: str, server: str, /) -> bool:
        """Tell whether a limit is about calls of this name, with some arguments."""
        ...

    def result_limit(
        self, policy: Policy, subject: Subject, where: Surroundings, /
    ) -> "Limit | None":
        """Return the smallest limit of the size of this call's result."""
        ...

    def count(
        self,
        policy: Policy,
        subject: Subject,
        where: Surroundings,
        /,
        *,
        caller: str,
        being: str,
        approved: bool = False,
    ) -> tuple[Spent | None, Running | None]:
        """Count a call, or return a limit that it is above; raises UnavailableError.

        A call that is Running has to be ended.
        """
        ...


class Uncounted:
    """For places that count nothing: a call that a limit might be about is denied."""

    def may_count(self, _policy: Policy, _kind: Kind, _name: str, _server: str, /) -> bool:
        """Return True, so that the call is looked at in full."""
        return True

    def result_limit(
        self, _policy: Policy, _subject: Subject, _where: Surroundings, /
    ) -> "Limit | None":
        """Return None, because the call is denied."""
        return None

    def count(
        self, _policy: Policy, _subject: Subject, _where: Surroundings, /, **_facts: Any
    ) -> tuple[Spent | None, Running | None]:
        """Raise UnavailableError."""
        raise UnavailableError("limits are not counted here")


@dataclass(slots=True, kw_only=True)  # frozen, each would take three times as long to make
class Call:
    """A call to decide about, and its caller.

    `objection` is the text of a denial that no rule can override. `granted` means that an earlier
    round of this call was approved. `doubt` is the reason why a call that a rule allows still
    needs an approval. A call that `needs_name` needs one unless a rule names its tool. `counted`
    means that the limits have counted the call, and `running` is to be ended with it.
    """

    subject: Subject
    principal: str = "local"
    being: str = ""
    request: str | None = None
    sender: Direction = "client"
    can_elicit: bool = False
    objection: str | None = None
    doubt: str | None = None
    granted: bool = False
    needs_name: bool = False
    note: str | None = None
    counted: bool = False
    running: Running | None = None
    profile: str = ""

    def end(self) -> None:
        """End the call for its limits, without a result."""
        if self.running is not None:
            self.running.end()


class Allowed(NamedTuple):
    """The call may be made. `approval` names the approval, if one was needed.

    `running` is to be ended with the call.
    """

    audit: str
    approval: str | None = None
    running: Running | None = None

    @property
    def counts_bytes(self) -> bool:
        """True if limits count the bytes of the result."""
        return self.running is not None and self.running.counts_bytes

    def end(self, returned: int = 0) -> None:
        """End the call for its limits, with the bytes of its result."""
        if self.running is not None:
            self.running.end(returned)


@dataclass(frozen=True, slots=True)
class Denied:
    """The call is not made; its sender gets `text`."""

    text: str
    rule: int | None = None
    audit: str = ""
    style: str = "result"


@dataclass(frozen=True, slots=True)
class Pending:
    """Somebody has to decide first."""

    request: ApprovalRequest
    by: Question | Waiting


Ruling = Allowed | Denied | Pending


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides about calls of one server; `tell` takes messages for its owner.

    `commands` are the commands that such messages suggest. `limits` counts calls; without it, calls
    that a limit is about are denied.
    """

    source: PolicySource
    trail: Trail
    tell: Callable[[str], None]
    server: str
    where: Surroundings = NOWHERE
    approver: Approver = field(default_factory=Nobody)
    commands: Commands = _COMMANDS
    limits: Limits = field(default_factory=Uncounted)

    def policy(self) -> Policy:
        """Return the policy in force."""
        return self.source.current()

    def with_received(
        self,
        subject: Subject,
        received: Callable[[tuple[bool, int]], frozenset[str] | None],
        *,
        reads_arguments: bool = False,
    ) -> Subject:
        """Return a subject with what its caller has received, if a rule depends on that.

        `received` gets the windows of such rules. With `reads_arguments` only those rules count
        that may match the arguments.
        """
        try:
            engine = self.policy().engine(self.where)
            windows = engine.windows(subject, reads_arguments=reads_arguments)
        except Exception:  # noqa: BLE001 - the decision itself fails too, and the call is denied
            return subject
        return subject._replace(received=received(windows)) if any(windows) else subject

    def rule(self, call: Call) -> Ruling:
        """Decide, get an approval if one is needed, and record it."""
        return self._rule(
            call, lambda request: self.approver.ask(request, can_elicit=call.can_elicit)
        )

    def _rule(self, call: Call, approve: Callable[[ApprovalRequest], Approval]) -> Ruling:
        try:
            policy = self.source.current()
        except NacreError as error:
            self.tell(str(error))
            return Denied(_UNKNOWN)
        try:
            decision = known_decision(call.subject, policy, self.where) or policy.decide(
                call.subject, self.where
            )
        except Exception as error:  # noqa: BLE001 - no failure may let a call pass
            self.tell(f"a decision failed ({type(error).__name__}), so the call was denied")
            decision = _FAULT
        ruled = decision
        if call.needs_name and decision.action == "allow" and not names_tool(policy, decision):
            call.doubt = call.doubt or _UNNAMED
        if call.objection is not None:
            decision = Decision("deny", None, None, call.objection)
        elif call.doubt is not None and decision.action == "allow":
            decision = Decision("prompt", decision.rule, None, call.doubt)
        if decision.action == "allow" and policy.limits:
            decision = self._within_limits(call, policy, decision, approved=call.granted)
        if decision.action != "prompt" or policy.settings.mode == "monitor":
            return self._settle(call, policy, decision, decision.action)
        if call.granted:
            return self._allowed(call, policy, decision, "earlier round")
        request = ApprovalRequest(
            call.principal,
            call.subject,
            arguments_sha256(call.subject.arguments),
            policy.digest,
            decision,
            asking_rule(policy, call.subject, decision) if decision is ruled else None,
        )
        return self._approved(call, policy, request, self._attempt(request, approve))

    def resume(self, call: Call, ticket: str, result: Mapping[str, Any]) -> Ruling:
        """Decide once more about a call that comes back with the answer to a Question."""
        return self._rule(call, lambda request: self.approver.answered(request, ticket, result))

    def answered(
        self, call: Call, request: ApprovalRequest, ticket: str, result: Mapping[str, Any]
    ) -> Ruling:
        """Take the answer to a Question about a call that is held."""
        policy = self.source.current()
        approval = _outdated(request, policy) or self._attempt(
            request, lambda question: self.approver.answered(question, ticket, result)
        )
        return self._approved(call, policy, request, approval)

    def look(self, call: Call, pending: Pending) -> Ruling:
        """Return the ruling about a held call, which is still Pending while nobody has decided."""
        policy = self.source.current()
        ticket = pending.by.ticket
        approval = _outdated(pending.request, policy) or self._attempt(
            pending.request, lambda question: self.approver.look(question, ticket)
        )
        if isinstance(approval, Waiting):
            return pending
        return self._approved(call, policy, pending.request, approval)

    def refuse(self, call: Call, request: ApprovalRequest, text: str) -> Ruling:
        """Deny a call that nobody decided about in time."""
        return self._approved(call, self.source.current(), request, Refused(text))

    def note(
        self,
        outcome: Outcome,
        method: str,
        *,
        sender: Direction,
        call: Call | None = None,
        **more: Any,
    ) -> bool:
        """Record a message that needed no decision; return False if it must not pass unrecorded."""
        principal: dict[str, Any] = (
            {} if call is None else {"principal": call.principal, "being": call.being}
        )
        if call is not None and call.profile:
            more["fields"] = {**more.get("fields", {}), "profile": call.profile}
        entry = AuditEntry(
            outcome=outcome, server=self.server, method=method, sender=sender, **principal, **more
        )
        try:
            self.trail.record(entry)
        except Exception as error:  # noqa: BLE001 - an audit that fails in any way is none
            self.tell(f"the audit failed: {_reason(error)}")
            return not self._enforces()
        return True

    def _enforces(self) -> bool:
        try:
            return self.source.current().settings.mode == "enforce"
        except NacreError:
            return True

    def _attempt(
        self, request: ApprovalRequest, approve: Callable[[ApprovalRequest], Approval]
    ) -> Approval:
        try:
            return approve(request)
        except Exception as error:  # noqa: BLE001 - as above
            return self._failed(request, error)

    def _failed(self, request: ApprovalRequest, error: Exception) -> Refused:
        self.tell(f"an approval failed: {_reason(error)}")
        return Refused(f"{request.decision.text}: approvals cannot be looked up now")

    def _approved(
        self, call: Call, policy: Policy, request: ApprovalRequest, approval: Approval
    ) -> Ruling:
        decision = request.decision
        match approval:
            case Granted(by):
                return self._allowed(call, policy, decision, by)
            case Refused(text):
                denied = Decision("deny", decision.rule, None, text)
                return self._settle(call, policy, denied, "deny")
            case Question() | Waiting():
                ruling = self._settle(call, policy, decision, "prompt", ticket=approval.ticket)
                return ruling if isinstance(ruling, Denied) else Pending(request, approval)

    def _allowed(
        self, call: Call, policy: Policy, decision: Decision, approval: str
    ) -> Allowed | Denied:
        """Allow a call that a person has approved, unless it is above a limit that denies."""
        if policy.limits:
            limited = self._within_limits(call, policy, decision, approved=True)
            if limited.action == "deny":
                return self._settle(call, policy, limited, "deny")
        return self._settle(call, policy, decision, "allow", approval=approval)

    def _within_limits(
        self, call: Call, policy: Policy, decision: Decision, *, approved: bool
    ) -> Decision:
        """Count a call that may be made, and return the decision, which a limit may change."""
        if call.counted:
            return decision
        try:
            spent, call.running = self.limits.count(
                policy,
                call.subject,
                self.where,
                caller=call.principal,
                being=call.being,
                approved=approved,
            )
        except Exception as error:  # noqa: BLE001 - no failure may let a call pass
            self.tell(f"limits cannot be counted: {_reason(error)}")
            return Decision("deny", decision.rule, None, _UNCOUNTED)
        if spent is None:
            call.counted = True
            return decision
        return Decision(spent.action, decision.rule, None, spent.text)

    def _settle(
        self, call: Call, policy: Policy, decision: Decision, outcome: Outcome, **facts: Any
    ) -> Allowed | Denied:
        settings = policy.settings
        enforced = settings.mode == "enforce"
        subject = call.subject
        given_arguments: object = (
            subject.arguments
        )  # from a message, so the annotation is not guaranteed
        is_known = type(given_arguments) is dict or isinstance(given_arguments, Mapping)
        arguments = subject.arguments if is_known else {}
        is_tool, name = subject.kind == "tool", masked_name(str(subject.name))
        received = subject.received
        if received is not None and not self._reads_origins(policy, subject):
            received = None
        entry = AuditEntry(
            outcome=outcome,
            server=self.server,
            method="tools/call" if is_tool else name,
            sender=call.sender,
            tool=name if is_tool else None,
            rule=decision.rule,
            policy=policy.digest,
            principal=call.principal,
            being=call.being,
            request=call.request,
            arguments_sha256=arguments_sha256(arguments),
            shape=shape(arguments),
            enforced=enforced,
            note=call.note or call.objection or call.doubt,
            fields={
                **facts,
                **({"profile": call.profile} if call.profile else {}),
                **({} if received is None else {"received": sorted(received)}),
            },
        )
        audit = self.record(entry, policy, decision.rule)
        denies = isinstance(audit, Denied) or (outcome == "deny" and enforced)
        if denies:
            call.end()
        if isinstance(audit, Denied):
            return audit
        if denies:
            return Denied(decision.text, decision.rule, audit, settings.deny_style)
        return Allowed(audit, facts.get("approval"), call.running)

    def _reads_origins(self, policy: Policy, subject: Subject) -> bool:
        """Tell whether the decision could depend on what the caller has received."""
        engine = policy.engine(self.where)
        return engine.reads_origins(subject.kind, subject.name, subject.server)

    def record(self, entry: Record, policy: Policy, rule: int | None) -> str | Denied:
        """Record a decision and return the record's id; a denial if that fails."""
        try:
            return self.trail.record(entry)
        except Exception as error:  # noqa: BLE001 - an audit that fails in any way is none
            self.tell(f"the audit failed: {_reason(error)}")
        settings = policy.settings
        if settings.mode == "enforce":
            return Denied(_UNAUDITED, rule, "", settings.deny_style)
        return ""


def _outdated(request: ApprovalRequest, policy: Policy) -> Refused | None:
    """Refuse an approval that another policy asked for, because this one may deny the call."""
    if request.policy == policy.digest:
        return None
    return Refused(
        f"{request.decision.text}: the policy has changed since this was asked. "
        "Make the call again."
    )


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, NacreError) else type(error).__name__
