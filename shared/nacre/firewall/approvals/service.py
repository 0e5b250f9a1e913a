"""Approvals: a person allows one exact call in time, and the approval is used up.

An approval counts for one principal, server, tool, set of arguments and policy; one of the whole
tool counts for any arguments, for some minutes and while the same rule asks. The client asks
its user, if the policy trusts that person; the owner can always answer with the command
`nacre approvals`. If nobody answers, the call is denied.
"""

from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import Any

from nacre.core.clock import Clock
from nacre.core.errors import (
    ConditionFailedError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
)
from nacre.core.lazy_dataclasses import dataclass, replace
from nacre.core.limits import (
    APPROVAL_DENIED_SECONDS,
    APPROVAL_FLOOD_SECONDS,
    APPROVAL_MINUTES,
    APPROVAL_SESSION_SECONDS,
    APPROVAL_USE_SECONDS,
    CLOCK_TOLERANCE_SECONDS,
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
from nacre.firewall.approvals.form import chosen_duration, question, shown_arguments
from nacre.firewall.approvals.store import (
    ApprovalStore,
    Lasting,
    Ticket,
    digest_of,
    ticket_of,
    tool_digest_of,
)
from nacre.firewall.rules.sections import Settings
from nacre.firewall.suggested_commands import Commands
from nacre.ports.items.table import EXPIRES_AT, SCHEMA, Absent, Compare, Item, Key, Table

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # without letters that look like digits
_COMMANDS = Commands()
_ATTEMPTS = 8  # calls of one server that ask at the very same moment
_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Grant:
    """An approval: once, for some minutes, for the session, or of the tool for some minutes."""

    lasting: Lasting = "once"
    minutes: int = APPROVAL_MINUTES


@dataclass(frozen=True, slots=True)
class Denial:
    """A refusal."""


class Approvals:
    """Asks people about calls, stores their answers, and uses each approval for its call.

    `settings` returns those of the policy in force. `session` is the id of this process, None if
    calls of one client reach several processes. `commands` reach this store. Without `holds`, a
    call is not kept waiting but denied at once with its ticket. `show` returns the arguments as
    people see them.
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
        show: Callable[[Mapping[str, Any]], str] = shown_arguments,
    ) -> None:
        self._store = ApprovalStore(table, scope)
        most, seconds = MAX_APPROVALS_ASKED, APPROVAL_FLOOD_SECONDS
        self._limit = QuestionLimit(table, scope, most=most, seconds=seconds)
        self._settings = settings
        self._clock = clock
        self._rng = rng
        self._session = session
        self._commands = commands
        self._holds = holds
        self._show = show

    def ask(self, request: ApprovalRequest, *, can_elicit: bool) -> Approval:
        """Use up a matching approval, or open a question; equal calls share one question."""
        now = self._now()
        approval = self._known(request, now)
        if approval is None:
            if not self._limit.admits(request.subject.server, now):
                return Refused(
                    f"{request.decision.text}: denied, because {MAX_APPROVALS_ASKED} approvals "
                    f"were asked for within {APPROVAL_FLOOD_SECONDS} seconds. Wait a minute."
                )
            approval = self._opened(request, now)
        elif isinstance(approval, Ticket):
            approval = self._renewed(approval, now)
        if isinstance(approval, (Granted, Refused)):
            return approval
        if can_elicit and self._trusts_the_client:
            form = question(request, approval.arguments, has_session=self._session is not None)
            return Question(approval.ticket, form)
        return self._waiting(request, approval, now)

    def answered(
        self, request: ApprovalRequest, ticket: str, result: Mapping[str, Any]
    ) -> Granted | Refused:
        """Take the result of an elicitation; each ticket counts once, and only for its call."""
        now = self._now()
        approval = self._known(request, now)
        if isinstance(approval, (Granted, Refused)):  # somebody answered sooner, by the command
            return approval
        if approval is None or approval.ticket != ticket or not self._trusts_the_client:
            return Refused(
                f"{request.decision.text}: the answer belongs to another call, came too late or "
                "was used before. Make the call again to be asked again."
            )
        lasting = chosen_duration(result)
        if lasting == "session" and self._session is None:
            lasting = None
        if lasting == "tool" and approval.tool is None:
            lasting = None
        if lasting is None:
            self._store.answer(approval, denied(approval, "form", now), now)
            return _denied(request)
        answer = granted(replace(approval, session=self._session), Grant(lasting), "form", now)
        is_taken = (
            self._store.take(approval, now)
            if lasting == "once"
            else self._store.answer(approval, answer, now)
        )
        if is_taken:
            return Granted(answer.approval)
        return self._afterwards(request)

    def look(self, request: ApprovalRequest, ticket: str) -> Granted | Refused | Waiting:
        """Return the state of a question; an approval found is used up."""
        now = self._now()
        approval = self._known(request, now)
        if isinstance(approval, (Granted, Refused)):
            return approval
        if approval is None or approval.ticket != ticket:
            return Refused(
                f"{request.decision.text}: nobody approved it within "
                f"{self._settings().approval_seconds} seconds. Make the same call again to ask "
                "again."
            )
        return self._waiting(request, approval, now)

    @property
    def _trusts_the_client(self) -> bool:
        return self._settings().approver == "user"

    def _known(self, request: ApprovalRequest, now: int) -> Ticket | Granted | Refused | None:
        tool = tool_digest_of(request)
        tickets = self._store.read(digest_of(request), self._session, now, tool=tool)
        has_tool = any(ticket.lasting == "tool" and ticket.state == "granted" for ticket in tickets)
        for ticket in tickets:
            if ticket.state == "open" and has_tool:
                continue
            if ticket.state == "open":
                return ticket
            if ticket.state == "denied":
                return _denied(request)
            if ticket.lasting != "once" or self._store.use(ticket, now):
                return Granted(ticket.approval)
        return None

    def _afterwards(self, request: ApprovalRequest) -> Granted | Refused:
        """Return the effect of another answer that came first."""
        approval = self._known(request, self._now())
        return approval if isinstance(approval, (Granted, Refused)) else _denied(request)

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
            tool=tool_digest_of(request),
        )
        if self._store.open(ticket, now):
            return ticket
        return self._known(request, now) or _denied(request)

    def _waiting(self, request: ApprovalRequest, ticket: Ticket, now: int) -> Waiting:
        text = f"{request.decision.text}: nobody has approved this call yet."
        remaining = max(0, ticket.until - now) // 1000
        advice = (
            f"Its owner can allow it within {_spoken(remaining)} with "
            f"'{self._commands.line('approvals', 'allow', ticket.ticket)}'; "
            "then make the same call again."
        )
        seconds = self._settings().wait_seconds if self._holds else 0
        return Waiting(ticket.ticket, f"{text} {advice}", seconds)

    def _renewed(self, ticket: Ticket, now: int) -> Ticket:
        """Extend a question that is asked again, so that its ticket does not end at once."""
        renewed = replace(ticket, until=now + self._settings().approval_seconds * 1000)
        return renewed if self._store.answer(ticket, renewed, now) else ticket

    def _now(self) -> int:
        return int(self._clock().timestamp() * 1000)


class Desk:
    """Lists open questions and takes the owner's decisions; it needs no policy."""

    def __init__(self, table: Table, *, clock: Clock, scope: str = "global") -> None:
        self._store = ApprovalStore(table, scope)
        self._clock = clock

    def all(self) -> list[Ticket]:
        """Return the open questions and the approvals in force, the oldest first."""
        return self._store.all(self._now())

    def decide(self, ticket: str, decision: Grant | Denial, *, by: str) -> Ticket:
        """Answer a question; a denial also ends an approval.

        Raises NotFoundError if there is no such question, ConflictError if somebody else has
        answered it.
        """
        now = self._now()
        current = self._store.find(ticket, now)
        if current is None:
            raise NotFoundError(
                f"no approval {ticket[:40]!r} waits or counts; see 'nacre approvals list'"
            )
        if isinstance(decision, Grant):
            if current.state != "open":
                raise ConflictError(
                    f"{ticket} was {current.state} before; see 'nacre approvals list'"
                )
            if decision.lasting == "session" and current.session is None:
                raise InvalidInputError(
                    f"{ticket} was asked where there are no sessions; give --minutes instead"
                )
            if decision.lasting == "tool" and current.tool is None:
                raise InvalidInputError(
                    f"{ticket} was not asked by a rule about this tool, so only this call can be "
                    "allowed"
                )
            answer = granted(current, decision, by, now)
        else:
            answer = denied(current, by, now)
        if not self._store.answer(current, answer, now):
            raise ConflictError(f"{ticket} was answered just now; see 'nacre approvals list'")
        return answer

    def forget(self, principals: Collection[str]) -> int:
        """Remove all questions and approvals of these callers; return how many."""
        return self._store.forget(principals)

    def _now(self) -> int:
        return int(self._clock().timestamp() * 1000)


class QuestionLimit:
    """Limits how often people are asked about each server, so that nobody agrees only for quiet.

    All processes count together.
    """

    def __init__(self, table: Table, scope: str, *, most: int, seconds: int) -> None:
        self._table = table
        self._partition = f"AP#{scope}"
        self._most = most
        self._seconds = seconds

    def admits(self, server: str, now: int) -> bool:
        """Count one more question about the server; False if the limit is reached.

        `now` is in milliseconds.
        """
        key = Key(self._partition, f"F#{server}")
        for _ in range(_ATTEMPTS):
            item = self._table.get(key)
            # A time in the future is from before the clock was set back.
            latest = now + CLOCK_TOLERANCE_SECONDS * 1000
            recent = [time for time in _times(item) if now - self._seconds * 1000 < time <= latest]
            if len(recent) >= self._most:
                return False
            if self._counted(key, item, [*recent, now]):
                return True
        return False

    def _counted(self, key: Key, item: Item | None, times: list[int]) -> bool:
        turn = item["turn"] if item else 0
        assert isinstance(turn, int)
        changed: Item = {
            **key.attributes(),
            SCHEMA: _SCHEMA,
            EXPIRES_AT: times[-1] // 1000 + self._seconds + 1,
            "turn": turn + 1,
            "times": list(times),
        }
        try:
            self._table.put(changed, when=Compare("turn", "=", turn) if item else Absent())
        except ConditionFailedError:
            return False
        return True


def _times(item: Item | None) -> list[int]:
    times = item["times"] if item else []
    assert isinstance(times, list)
    return [time for time in times if isinstance(time, int)]


def granted(ticket: Ticket, grant: Grant, by: str, now: int) -> Ticket:
    """Return the ticket after an approval."""
    if not 1 <= grant.minutes <= MAX_APPROVAL_MINUTES:
        raise InvalidInputError(f"minutes are from 1 to {MAX_APPROVAL_MINUTES}; choose fewer")
    seconds = {
        "once": APPROVAL_USE_SECONDS,
        "minutes": grant.minutes * 60,
        "tool": grant.minutes * 60,
        "session": APPROVAL_SESSION_SECONDS,
    }[grant.lasting]
    return replace(
        ticket, state="granted", lasting=grant.lasting, by=by, until=now + seconds * 1000
    )


def denied(ticket: Ticket, by: str, now: int) -> Ticket:
    """Return the ticket after a refusal."""
    return replace(ticket, state="denied", by=by, until=now + APPROVAL_DENIED_SECONDS * 1000)


def _spoken(seconds: int) -> str:
    if seconds < 120:
        return "1 second" if seconds == 1 else f"{seconds} seconds"
    return f"{seconds // 60} minutes"


def _denied(request: ApprovalRequest) -> Refused:
    return Refused(f"{request.decision.text}: the person who was asked said no.")
