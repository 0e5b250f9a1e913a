"""The interface for approvals: a request about one call, and its possible outcomes."""

from collections.abc import Mapping
from typing import Any, Protocol

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.origins import external
from nacre.firewall.rules.received_origins import EXTERNAL, recent_kinds, recent_origins
from nacre.firewall.rules.rule import Decision, Subject


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One call that needs an approval. `rule` is the rule that asks about all calls of its tool.

    It is None if something else asks, such as a limit, and for all but tools of other servers: each
    change of who a Being is needs an approval of its own.

    The approval is bound to the principal, the server, the subject, the digest of the
    arguments and the digest of the policy: a call that differs in one of them is a different call.
    """

    principal: str
    subject: Subject
    arguments_sha256: str
    policy: str
    decision: Decision
    rule: str | None = None

    def binding(self) -> tuple[str, ...]:
        """Return the values that an approval is bound to."""
        subject = self.subject
        kind_and_name = (subject.server, subject.kind, subject.name)
        # An approval from before untrusted content came in says nothing about the time after it.
        kinds = recent_kinds(subject.received or ())
        recent = ["tainted" if kind == EXTERNAL else kind for kind in kinds]
        return (self.principal, *kind_and_name, self.arguments_sha256, self.policy, *recent)

    def tool_binding(self) -> tuple[str, ...] | None:
        """Return the values that an approval of the whole tool is bound to.

        None if only this call can be approved. Content that another server sends afterwards ends
        such an approval.
        """
        if self.rule is None:
            return None
        subject = self.subject
        others = recent_origins(subject.received or ()) - {str(external(subject.server))}
        return (
            self.principal,
            subject.server,
            subject.name,
            self.policy,
            self.rule,
            *sorted(others),
        )


@dataclass(frozen=True, slots=True)
class Granted:
    """The call may be made once; `approval` names who allowed it, for the audit."""

    approval: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The call is denied; `text` is for the caller and says how to get an approval."""

    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """Ask the user of this client, by elicitation.

    `params` are those of `elicitation/create`: a message and a form.
    """

    ticket: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Somebody else has to decide. The call is held for `seconds`.

    `text` is the denial if nobody decides by then; it names the ticket, which stays open.
    """

    ticket: str
    text: str
    seconds: float


Approval = Granted | Refused | Question | Waiting


class Approver(Protocol):
    """Decides about calls that need an approval; any exception denies the call."""

    def ask(self, request: ApprovalRequest, *, can_elicit: bool) -> Approval:
        """Use up a matching approval, or open a question.

        With `can_elicit` the client can show a form to its user. An approver that does not trust
        that user never returns a Question.
        """
        ...

    def answered(
        self, request: ApprovalRequest, ticket: str, result: Mapping[str, Any]
    ) -> Granted | Refused:
        """Take the result of an elicitation; each ticket counts once."""
        ...

    def look(self, request: ApprovalRequest, ticket: str) -> Granted | Refused | Waiting:
        """Return the state of a question; an approval found is used up."""
        ...


class Nobody:
    """Nobody can be asked: every call that needs an approval is denied."""

    def ask(self, request: ApprovalRequest, *, can_elicit: bool) -> Refused:
        """Deny, and say how to allow the call."""
        del can_elicit
        return Refused(
            f"{request.decision.text}: it needs an approval, and nobody can be asked here. "
            "Allow it with a rule of the policy."
        )

    def answered(self, request: ApprovalRequest, ticket: str, result: Mapping[str, Any]) -> Refused:
        """Deny: nothing was asked."""
        del ticket, result
        return self.ask(request, can_elicit=False)

    def look(self, request: ApprovalRequest, ticket: str) -> Refused:
        """Deny: nothing was asked."""
        del ticket
        return self.ask(request, can_elicit=False)
