"""The calls that wait for their owner's word, and what was granted and still counts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from nacre.access.beings import Being
from nacre.access.tokens.store import TokenStore
from nacre.firewall.approvals.form import printable
from nacre.firewall.approvals.store import Ticket

LOCAL = "local"  # who speaks over stdio, and has no token


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: by the name that their owner knows, and for which Being."""

    name: str
    being: str


@dataclass(frozen=True, slots=True)
class Case:
    """One call as its owner reads it; every character shows."""

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


def callers(tokens: TokenStore, beings: Iterable[Being]) -> dict[str, Caller]:
    """Return who may ask on behalf of these Beings, by what tickets and records call them."""
    return {
        record.token_id: Caller(printable(record.label or record.hint), being.name)
        for being in beings
        for record in tokens.of_being(being.being_id)
    }


def cases(
    tickets: Iterable[Ticket], known: Mapping[str, Caller], *, with_local: bool
) -> list[Case]:
    """Return what concerns these callers, the oldest question first, questions before answers.

    `with_local`: calls on this machine that came without a token belong to the reader too.
    """
    everyone = {**known, LOCAL: Caller("a program on this machine", "")} if with_local else known
    found = [
        _case(ticket, everyone[ticket.principal])
        for ticket in tickets
        if ticket.principal in everyone
    ]
    return sorted(found, key=lambda case: case.state != "open")


def _case(ticket: Ticket, caller: Caller) -> Case:
    return Case(
        ticket=ticket.ticket,
        state=ticket.state,
        lasting=ticket.lasting or "",
        server=printable(ticket.server),
        name=printable(ticket.name),
        kind=printable(ticket.kind),
        arguments=ticket.arguments,
        why=printable(ticket.text),
        by=printable(ticket.by),
        caller=caller,
        asked=_at(ticket.asked),
        until=_at(ticket.until),
        has_session=ticket.session is not None,
    )


def _at(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
