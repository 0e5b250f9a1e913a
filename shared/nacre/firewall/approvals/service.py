"""Approvals: a person says yes to one exact call, in time, and the yes is used up.

An approval counts for one principal, server, tool, set of arguments and policy. It is asked
for in the client, where the policy trusts the person there, and always through the command
`nacre approvals`. Nobody who answers is a no.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from nacre.core.clock import Clock
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError
from nacre.core.limits import (
    APPROVAL_DENIED_SECONDS,
    APPROVAL_FLOOD_SECONDS,
    APPROVAL_MINUTES,
    APPROVAL_SESSION_SECONDS,
    APPROVAL_USE_SECONDS,
    MAX_APPROVAL_MINUTES,
    MAX_APPROVALS_ASKED,
)
from nacre.firewall.approvals.approver import (
    Approval,
    ApprovalRequest,
    Granted,
    Question,
    Refused,
    Waiting,
)
from nacre.firewall.approvals.form import chosen, question, shown
from nacre.firewall.approvals.question_limit import Floods
from nacre.firewall.approvals.store import ApprovalStore, Lasting, Ticket, digest_of, ticket_of
from nacre.firewall.rules.sections import Settings
from nacre.firewall.suggested_commands import Commands
from nacre.ports.items.table import Table

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # none that is taken for another
_COMMANDS = Commands()


@dataclass(frozen=True, slots=True)
class Grant:
    """A yes: for once, for so many minutes, or as long as the session lasts."""

    lasting: Lasting = "once"
    minutes: int = APPROVAL_MINUTES


@dataclass(frozen=True, slots=True)
class Denial:
    """A no."""


class Approvals:
    """Asks people, remembers what they say, and gives each yes to the call it was for.

    `settings` are those of the policy in force. `session` is this process's own, None where
    calls of one client reach several processes. `commands` are those that find this store.
    `holds` is False where a call cannot be kept waiting, so that it is denied with its ticket at
    once. `show` says what a person sees of the arguments.
    """

    def __init__(
        self,
        table: Table,
        settings: Callable[[], Settings],
        *,
        clock: Clock,
        rng: Random,
        scope: str = "global",
        session: str | None = None,
        commands: Commands = _COMMANDS,
        holds: bool = True,
        show: Callable[[Mapping[str, Any]], str] = shown,
    ) -> None:
        self._store = ApprovalStore(table, scope)
        most, seconds = MAX_APPROVALS_ASKED, APPROVAL_FLOOD_SECONDS
        self._floods = Floods(table, scope, most=most, seconds=seconds)
        self._settings = settings
        self._clock = clock
        self._rng = rng
        self._session = session
        self._commands = commands
        self._holds = holds
        self._show = show

    def ask(self, request: ApprovalRequest, *, can_elicit: bool) -> Approval:
        """Use up what fits, or open a question; the same call has the same one until it ends."""
        now = self._now()
        known = self._known(request, now)
        if known is None:
            if not self._floods.admits(request.subject.server, now):
                return Refused(
                    f"{request.decision.text}: denied, because {MAX_APPROVALS_ASKED} approvals "
                    f"were asked for within {APPROVAL_FLOOD_SECONDS} seconds. Wait a minute."
                )
            known = self._opened(request, now)
        elif isinstance(known, Ticket):
            known = self._renewed(known, now)
        if isinstance(known, (Granted, Refused)):
            return known
        if can_elicit and self._trusts_the_client:
            form = question(request, known.arguments, has_session=self._session is not None)
            return Question(known.ticket, form)
        return self._waiting(request, known, now)

    def answered(
        self, request: ApprovalRequest, ticket: str, result: Mapping[str, Any]
    ) -> Granted | Refused:
        """Take the result of an elicitation; each ticket counts once, and only for its call."""
        now = self._now()
        known = self._known(request, now)
        if isinstance(known, (Granted, Refused)):  # somebody was faster, with the command
            return known
        if known is None or known.ticket != ticket or not self._trusts_the_client:
            return Refused(
                f"{request.decision.text}: the answer belongs to another call, came too late or "
                "was used before. Make the call again to be asked again."
            )
        lasting = chosen(result)
        if lasting == "session" and self._session is None:
            lasting = None
        if lasting is None:
            self._store.answer(known, denied(known, "form", now), now)
            return _denied(request)
        answer = granted(replace(known, session=self._session), Grant(lasting), "form", now)
        is_taken = (
            self._store.take(known, now)
            if lasting == "once"
            else self._store.answer(known, answer, now)
        )
        if is_taken:
            return Granted(answer.approval)
        return self._afterwards(request)

    def look(self, request: ApprovalRequest, ticket: str) -> Granted | Refused | Waiting:
        """Return how a question stands; a yes that is found is used up."""
        now = self._now()
        known = self._known(request, now)
        if isinstance(known, (Granted, Refused)):
            return known
        if known is None or known.ticket != ticket:
            return Refused(
                f"{request.decision.text}: nobody approved it within "
                f"{self._settings().approval_seconds} seconds. Make the same call again to ask "
                "again."
            )
        return self._waiting(request, known, now)

    @property
    def _trusts_the_client(self) -> bool:
        return self._settings().approver == "user"

    def _known(self, request: ApprovalRequest, now: int) -> Ticket | Granted | Refused | None:
        for ticket in self._store.read(digest_of(request), self._session, now):
            if ticket.state == "open":
                return ticket
            if ticket.state == "denied":
                return _denied(request)
            if ticket.lasting != "once" or self._store.use(ticket, now):
                return Granted(ticket.approval)
        return None

    def _afterwards(self, request: ApprovalRequest) -> Granted | Refused:
        """Return what another answer, which came first, has made of the call."""
        known = self._known(request, self._now())
        return known if isinstance(known, (Granted, Refused)) else _denied(request)

    def _opened(self, request: ApprovalRequest, now: int) -> Ticket | Granted | Refused:
        digest = digest_of(request)
        subject = request.subject
        ticket = Ticket(
            ticket=ticket_of(digest, "".join(self._rng.choices(_LETTERS, k=6))),
            digest=digest,
            state="open",
            until=now + self._settings().approval_seconds * 1000,
            asked=now,
            principal=request.principal,
            server=subject.server,
            kind=subject.kind,
            name=subject.name,
            arguments=self._show(subject.arguments),
            arguments_sha256=request.arguments_sha256,
            policy=request.policy,
            rule=request.decision.rule,
            text=request.decision.text,
            session=self._session,
        )
        if self._store.open(ticket, now):
            return ticket
        return self._known(request, now) or _denied(request)

    def _waiting(self, request: ApprovalRequest, ticket: Ticket, now: int) -> Waiting:
        text = f"{request.decision.text}: nobody has approved this call yet."
        left = max(0, ticket.until - now) // 1000
        advice = (
            f"Its owner can allow it within {_spoken(left)} with "
            f"'{self._commands.line('approvals', 'allow', ticket.ticket)}'; "
            "then make the same call again."
        )
        seconds = self._settings().wait_seconds if self._holds else 0
        return Waiting(ticket.ticket, f"{text} {advice}", seconds)

    def _renewed(self, ticket: Ticket, now: int) -> Ticket:
        """Give a question that is asked again its full life, so that no dying ticket is named."""
        renewed = replace(ticket, until=now + self._settings().approval_seconds * 1000)
        return renewed if self._store.answer(ticket, renewed, now) else ticket

    def _now(self) -> int:
        return int(self._clock().timestamp() * 1000)


class Desk:
    """Where an owner sees what waits, and decides; it needs no policy."""

    def __init__(self, table: Table, *, clock: Clock, scope: str = "global") -> None:
        self._store = ApprovalStore(table, scope)
        self._clock = clock

    def all(self) -> list[Ticket]:
        """Return what waits and what is in force, the oldest first."""
        return self._store.all(self._now())

    def decide(self, ticket: str, said: Grant | Denial, *, by: str) -> Ticket:
        """Answer a question; a denial also ends what was granted.

        Raises NotFoundError where nothing waits under this name, ConflictError where
        somebody else has answered.
        """
        now = self._now()
        found = self._store.find(ticket, now)
        if found is None:
            raise NotFoundError(
                f"no approval {ticket[:40]!r} waits or counts; see 'nacre approvals list'"
            )
        if isinstance(said, Grant):
            if found.state != "open":
                raise ConflictError(
                    f"{ticket} was {found.state} before; see 'nacre approvals list'"
                )
            if said.lasting == "session" and found.session is None:
                raise InvalidInputError(
                    f"{ticket} was asked where there are no sessions; give --minutes instead"
                )
            answer = granted(found, said, by, now)
        else:
            answer = denied(found, by, now)
        if not self._store.answer(found, answer, now):
            raise ConflictError(f"{ticket} was answered just now; see 'nacre approvals list'")
        return answer

    def forget(self, principals: Collection[str]) -> int:
        """Remove all that these callers asked for or were granted; return how many."""
        return self._store.forget(principals)

    def _now(self) -> int:
        return int(self._clock().timestamp() * 1000)


def granted(ticket: Ticket, grant: Grant, by: str, now: int) -> Ticket:
    """Return a ticket as it is after a yes."""
    if not 1 <= grant.minutes <= MAX_APPROVAL_MINUTES:
        raise InvalidInputError(f"minutes are from 1 to {MAX_APPROVAL_MINUTES}; choose fewer")
    seconds = {
        "once": APPROVAL_USE_SECONDS,
        "minutes": grant.minutes * 60,
        "session": APPROVAL_SESSION_SECONDS,
    }[grant.lasting]
    return replace(
        ticket, state="granted", lasting=grant.lasting, by=by, until=now + seconds * 1000
    )


def denied(ticket: Ticket, by: str, now: int) -> Ticket:
    """Return a ticket as it is after a no."""
    return replace(ticket, state="denied", by=by, until=now + APPROVAL_DENIED_SECONDS * 1000)


def _spoken(seconds: int) -> str:
    if seconds < 120:
        return "1 second" if seconds == 1 else f"{seconds} seconds"
    return f"{seconds // 60} minutes"


def _denied(request: ApprovalRequest) -> Refused:
    return Refused(f"{request.decision.text}: the person who was asked said no.")
