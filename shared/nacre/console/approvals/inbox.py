"""The calls that wait for approval, and the approvals that are still valid."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from nacre.access.beings import Being
from nacre.access.tokens.store import TokenStore
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.approvals.form import printable
from nacre.firewall.approvals.store import Ticket

LOCAL = "local"  # the caller over stdio, who has no token


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller, by the name that the owner knows, and its Being."""

    name: str
    being: str


@dataclass(frozen=True, slots=True)
class Case:
    """One call as its owner reads it; every character is visible."""

    ticket: str
    state: str
    lasting: str
    server: str
    name: str
    kind: str
    arguments: str
    why: str
    by: str
    caller: Caller
    asked: datetime
    until: datetime
    has_session: bool
    has_tool: bool


def callers(tokens: TokenStore, beings: Iterable[Being]) -> dict[str, Caller]:
    """Return the callers that act for these Beings, by the id that tickets and records name."""
    return {
        record.token_id: Caller(printable(record.label or record.hint), being.name)
        for being in beings
        for record in tokens.of_being(being.being_id)
    }


def cases(
    tickets: Iterable[Ticket], by_token: Mapping[str, Caller], *, with_local: bool
) -> list[Case]:
    """Return the cases of these callers: open ones first, the oldest first.

    `with_local` includes calls on this machine that came without a token.
    """
    everyone = (
        {**by_token, LOCAL: Caller("a program on this machine", "")} if with_local else by_token
    )
    visible = [
        _case(ticket, everyone[ticket.principal])
        for ticket in tickets
        if ticket.principal in everyone
    ]
    return sorted(visible, key=lambda case: case.state != "open")


def _case(ticket: Ticket, caller: Caller) -> Case:
    return Case(
        ticket=ticket.ticket,
        state=ticket.state,
        lasting=ticket.lasting or "",
        server=printable(ticket.server),
        name=printable(ticket.name),
        kind=printable(ticket.kind),
        arguments="any arguments" if _is_whole_tool(ticket) else ticket.arguments,
        why=printable(ticket.text),
        by=printable(ticket.by),
        caller=caller,
        asked=_at(ticket.asked),
        until=_at(ticket.until),
        has_session=ticket.session is not None,
        has_tool=ticket.tool is not None,
    )


def _is_whole_tool(ticket: Ticket) -> bool:
    return ticket.state == "granted" and ticket.lasting == "tool"


def _at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
