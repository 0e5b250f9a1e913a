"""Approvals and floods that were written before the clock was set back."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.limits import MAX_APPROVAL_MINUTES
from nacre.firewall.approvals.service import QuestionLimit
from nacre.firewall.approvals.store import ApprovalStore, Ticket

NOW = 1_800_000_000_000
YEAR = 365 * 86_400_000


@pytest.fixture
def table() -> Iterator[SqliteTable]:
    with closing(SqliteDatabase(":memory:")) as database:
        yield SqliteTable(database)


def test_questions_of_a_clock_that_was_ahead_do_not_keep_a_server_from_asking(
    table: SqliteTable,
) -> None:
    floods = QuestionLimit(table, "laptop", most=2, seconds=60)
    admitted = [floods.admits("files", NOW + YEAR) for _ in range(3)]

    assert admitted == [True, True, False]
    assert floods.admits("files", NOW)


def test_a_yes_of_a_clock_that_was_ahead_does_not_count_for_a_year(table: SqliteTable) -> None:
    store = ApprovalStore(table, "laptop")
    ticket = granted(until=NOW + YEAR + MAX_APPROVAL_MINUTES * 60_000)
    assert store.open(ticket, NOW + YEAR)
    assert store.read(ticket.digest, None, NOW + YEAR) == [ticket]

    assert store.read(ticket.digest, None, NOW) == []
    assert not store.use(ticket, NOW)
    assert store.open(granted(until=NOW + 1000), NOW)


def granted(*, until: int) -> Ticket:
    return Ticket(
        ticket="t",
        digest="d" * 64,
        state="granted",
        until=until,
        asked=until - 1000,
        principal="local",
        server="files",
        kind="tool",
        name="read",
        arguments="{}",
        arguments_sha256="a" * 64,
        policy="p",
        rule=1,
        text="read?",
        lasting="once",
    )
