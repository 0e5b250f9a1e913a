"""Expired items that are removed for good, although the clock may be wrong."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.access.scopes import SCOPES_BY_NAME
from nacre.access.tokens.store import TokenStore
from nacre.access.tokens.token_format import digest
from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.queue import SqliteQueue
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.limits import (
    BRIEF_SECONDS,
    DEAD_MESSAGE_DAYS,
    MAX_RECEIVES,
    PURGE_MARGIN_SECONDS,
    PURGE_STEP_SECONDS,
    RUN_KEY_SECONDS,
)
from nacre.core.token_prefixes import API
from nacre.ports.items.table import Item, Key
from tests.adapters.conftest import StillClock

DAY = 86_400
KEY = Key("P", "long")


class Store:
    """A store; at each start other tables look at it, which remember nothing of their own."""

    def __init__(self, database: SqliteDatabase, clock: StillClock) -> None:
        self.database = database
        self.clock = clock

    def start(self) -> None:
        """Write, and look for what may go."""
        for name in ("data", "tokens"):
            table = SqliteTable(self.database, name, now=self.clock)
            table.put({"pk": "P", "sk": "start", "schema": 1})
            while table.purge():
                pass

    def put(self, *, seconds: float, sk: str = "long") -> None:
        item: Item = {
            "pk": "P",
            "sk": sk,
            "schema": 1,
            "expires_at": self.clock.at(seconds),
        }
        SqliteTable(self.database, now=self.clock).put(item)

    def shows(self, sk: str = "long") -> bool:
        return SqliteTable(self.database, now=self.clock).get(Key("P", sk)) is not None

    def holds(self, sk: str = "long") -> bool:
        with self.database.read() as connection:
            rows = connection.execute("SELECT 1 FROM data WHERE sk = ?", (sk,))
            return rows.fetchone() is not None

    def runs(self, seconds: float, *, step: float = DAY) -> None:
        """Let the server run, or be started each day."""
        for _ in range(int(seconds // step)):
            self.clock.move(step)
            self.start()


@pytest.fixture
def store(clock: StillClock) -> Iterator[Store]:
    with closing(SqliteDatabase(":memory:")) as database:
        made = Store(database, clock)
        made.start()
        yield made


@pytest.mark.parametrize("days", [120, 400, 4000])
@pytest.mark.parametrize("starts", [1, 5, 20])
def test_starts_with_a_clock_that_is_ahead_take_no_token(
    store: Store, clock: StillClock, days: int, starts: int
) -> None:
    table = SqliteTable(store.database, "tokens", now=clock)
    tokens = TokenStore(table, clock=clock, rng=Random(1))
    issued = tokens.issue(
        API, being_id="b", owner="ann", scopes=SCOPES_BY_NAME["full"], lifetime=timedelta(days=90)
    )
    right = clock.time
    clock.move(days * DAY)
    for _ in range(starts):
        store.start()
        clock.move(3600)
    clock.time = right + timedelta(hours=starts)
    store.start()

    assert tokens.lookup(digest(issued.token)) is not None


def test_an_expired_item_is_hidden_at_once_and_comes_back_with_the_clock(
    store: Store, clock: StillClock
) -> None:
    store.put(seconds=90 * DAY)
    right = clock.time
    clock.move(100 * DAY)

    assert not store.shows()
    clock.time = right
    assert store.shows()


@pytest.mark.parametrize("step", [DAY / 4, DAY, PURGE_STEP_SECONDS])
def test_a_server_that_runs_for_months_removes_what_expired(store: Store, step: float) -> None:
    store.put(seconds=2 * DAY)
    store.runs(PURGE_MARGIN_SECONDS, step=step)
    assert store.holds()  # the moment that is watched is from before its end

    store.runs(2 * PURGE_MARGIN_SECONDS, step=step)
    assert not store.holds()


def test_a_server_that_nobody_writes_to_sees_that_time_passes(store: Store) -> None:
    store.put(seconds=2 * DAY)
    table = SqliteTable(store.database, now=store.clock)
    removed = 0
    for _ in range(100 * 24):
        store.clock.move(3600)
        removed += table.purge()

    assert removed == 1


def test_a_pause_of_months_is_no_evidence_and_does_no_harm(store: Store) -> None:
    store.put(seconds=2 * DAY)
    for _ in range(10):
        store.clock.move(100 * DAY)
        store.start()
        assert store.holds()

    store.runs(3 * PURGE_MARGIN_SECONDS)
    assert not store.holds()


def test_a_clock_that_is_set_right_makes_the_watch_begin_anew(store: Store) -> None:
    right = store.clock.time
    store.clock.move(400 * DAY)
    store.runs(PURGE_MARGIN_SECONDS - 2 * DAY)  # most of the margin, with a wrong clock
    store.clock.time = right + timedelta(days=28)
    store.put(seconds=90 * DAY)
    store.runs(PURGE_MARGIN_SECONDS - DAY)
    assert store.shows()


@pytest.mark.parametrize("seconds", sorted({60, RUN_KEY_SECONDS, BRIEF_SECONDS}))
def test_what_was_to_live_for_a_day_goes_at_its_own_end(store: Store, seconds: int) -> None:
    store.put(seconds=seconds)
    store.clock.move(seconds - 1)
    store.start()
    assert store.shows()
    store.clock.move(1)
    store.start()
    assert not store.holds()


def test_an_item_that_is_written_again_near_its_end_is_still_kept(store: Store) -> None:
    store.put(seconds=90 * DAY)
    right = store.clock.time
    store.clock.move(90 * DAY - 60)  # a wrong clock, just before the end
    table = SqliteTable(store.database, now=store.clock)
    item = table.get(KEY)
    assert item is not None
    table.put({**item, "n": 2})
    store.clock.move(3600)
    store.start()
    store.clock.time = right

    assert store.shows()


def test_a_clock_that_is_ahead_takes_no_dead_message(store: Store, clock: StillClock) -> None:
    queue = SqliteQueue(store.database, "jobs", now=clock)

    def bury() -> None:
        queue.send("{}", group="g")
        for _ in range(MAX_RECEIVES + 1):
            queue.receive()
            clock.move(301)

    bury()
    clock.move((DEAD_MESSAGE_DAYS + 400) * DAY)
    bury()
    assert queue.depth().dead == 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["jump", "run", "back"]), st.integers(min_value=1, max_value=2000)
        ),
        max_size=12,
    )
)
def test_whatever_a_clock_did_before_it_was_set_right_the_item_is_there(
    moves: list[tuple[str, int]],
) -> None:
    """While a clock is wrong for less than the margin of running, nothing is lost."""
    with closing(SqliteDatabase(":memory:")) as database:
        assert _survives(Store(database, StillClock()), moves)


def _survives(store: Store, moves: list[tuple[str, int]]) -> bool:
    clock = store.clock
    store.start()
    store.put(seconds=365 * DAY)
    right, left = clock.time, PURGE_MARGIN_SECONDS // DAY - 1
    for kind, amount in moves:
        if kind == "run":
            days = min(left, amount % 10)
            left -= days
            store.runs(days * DAY)
        else:
            jump = timedelta(days=amount + 2)
            clock.time = max(right, clock.time + (jump if kind == "jump" else -jump))
            store.start()
    clock.time = right + timedelta(days=30)
    store.start()

    return store.shows()
