"""What a call that needs somebody's word is asked with, and what can come back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from nacre.firewall.rules.rule import Decision, Subject


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One call that a rule wants approved.

    The approval is bound to the principal, the server, the subject, the digest of the
    arguments and the digest of the policy: a call that differs in one of them is another.
    """

    principal: str
    subject: Subject
    arguments_sha256: str
    policy: str
    decision: Decision

    def binding(self) -> tuple[str, ...]:
        """Return all that a grant is bound to."""
        subject = self.subject
        kind_and_name = (subject.server, subject.kind, subject.name)
        return (self.principal, *kind_and_name, self.arguments_sha256, self.policy)


@dataclass(frozen=True, slots=True)
class Granted:
    """The call may be made, once; `approval` is who or what allowed it, for the audit."""

    approval: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The call is denied; `text` is for the caller and says how to get an approval."""

    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """The person behind this client is asked, by elicitation.

    `params` are those of `elicitation/create`: a message and a form.
    """

    ticket: str
    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Somebody else decides, elsewhere. The call is held for `seconds`.

    `text` is the denial when nobody has decided by then; it names the ticket, which lives on.
    """

    ticket: str
    text: str
    seconds: float


Approval = Granted | Refused | Question | Waiting


class Approver(Protocol):
    """Somebody who can say yes. Whatever it raises denies the call."""

    def ask(self, request: ApprovalRequest, *, can_elicit: bool) -> Approval:
        """Use up a grant that fits, or open a question.

        `can_elicit`: the client can show a form to the person behind it. An approver
        that does not trust that person never returns a Question.
        """
        ...

    def answered(
        self, request: ApprovalRequest, ticket: str, result: Mapping[str, Any]
    ) -> Granted | Refused:
        """Take the result of an elicitation; each ticket counts once."""
        ...

    def look(self, request: ApprovalRequest, ticket: str) -> Granted | Refused | Waiting:
        """Return how a question stands; a grant found here is used up."""
        ...


class Nobody:
    """Nobody can be asked: every call that needs an approval is denied."""

    def ask(self, request: ApprovalRequest, *, can_elicit: bool) -> Refused:
        """Deny, and say what would have to change."""
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
