import multiprocessing
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.firewall.limits.call_limits import CallLimits, Running, Spent
from nacre.firewall.limits.counters import key_of
from nacre.firewall.rules.rule import NOWHERE
from nacre.ports.items.table import Table
from tests.adapters.conftest import StillClock
from tests.firewall.deciding import call, policy

ALLOW = '[[rule]]\naction = "allow"\ntool = "**"\n'


def limit(*lines: str, calls: int = 2, per: str = "minute") -> str:
    return "\n".join(["[[limit]]", f"calls = {calls}", f'per = "{per}"', *lines, ""])


class Desk:
    """Counts calls of one policy."""

    def __init__(self, table: Table, clock: StillClock, text: str) -> None:
        self.limits = CallLimits(table, clock)
        self.policy = policy(ALLOW + text)

    def __call__(self, tool: str = "search", *, approved: bool = False, **facts: Any) -> int | None:
        """Count a call, and return the number of the limit that it is above."""
        spent = self.spent(tool, approved=approved, **facts)
        return None if spent is None else spent.limit.number

    def spent(self, tool: str = "search", *, approved: bool = False, **facts: Any) -> Spent | None:
        return self.ask(tool, approved=approved, **facts)[0]

    def ask(
        self, tool: str = "search", *, approved: bool = False, **facts: Any
    ) -> tuple[Spent | None, Running | None]:
        """Count a call, and return the limit that it is above, or the places that it has."""
        arguments = facts.get("arguments", {})
        return self.limits.count(
            self.policy,
            call(tool, arguments, server=facts.get("server", "fs")),
            NOWHERE,
            caller=facts.get("caller", "tok_1"),
            being=facts.get("being", "b1"),
            approved=approved,
        )


@pytest.fixture
def desk(table: Table, clock: StillClock) -> Callable[[str], Desk]:
    return lambda text: Desk(table, clock, text)


Desks = Callable[[str], Desk]


def test_calls_above_a_limit_wait_for_the_next_period(desk: Desks, clock: StillClock) -> None:
    count = desk(limit('tool = "search"'))

    assert [count() for _ in range(4)] == [None, None, 1, 1]
    assert count("other") is None
    clock.move(59)
    assert count() == 1
    clock.move(1)
    assert [count() for _ in range(3)] == [None, None, 1]


@pytest.mark.parametrize(("per", "seconds"), [("minute", 60), ("hour", 3600), ("day", 86400)])
def test_each_period_ends_by_the_clock(
    desk: Desks, clock: StillClock, per: str, seconds: int
) -> None:
    count = desk(limit('tool = "**"', calls=1, per=per))
    clock.move(seconds / 2)
    assert count() is None

    spent = count.spent()
    assert spent is not None
    clock.move(spent.seconds - 1)
    assert count() == 1
    clock.move(1)
    assert count() is None


def test_a_refusal_says_the_limit_and_when_it_ends(desk: Desks, clock: StillClock) -> None:
    plain = desk(limit('tool = "**"', 'by = ["caller", "tool"]', calls=1))
    described = desk(limit('tool = "**"', 'description = "Be slow"', calls=1, per="hour"))
    clock.move(18)
    plain()
    described()

    spent, also = plain.spent(), described.spent()

    assert spent is not None
    assert also is not None
    assert spent.text == (
        "Blocked by policy (limit 1): the limit of 1 call a minute for each tool and caller"
        " is used up; try again in 42 seconds"
    )
    assert also.text == "Be slow: the limit of 1 call an hour is used up; try again in 60 minutes"


@pytest.mark.parametrize(
    ("by", "apart"),
    [
        ("tool", {"tool": "other"}),
        ("server", {"server": "gh"}),
        ("caller", {"caller": "tok_2"}),
        ("being", {"being": "b2"}),
    ],
)
def test_each_group_is_counted_apart(desk: Desks, by: str, apart: dict[str, str]) -> None:
    count = desk(limit('tool = "**"', f'by = "{by}"', calls=1))
    other: Any = {name: value for name, value in apart.items() if name != "tool"}
    tool = apart.get("tool", "search")

    assert (count(), count(tool, **other)) == (None, None)
    assert (count(), count(tool, **other)) == (1, 1)


def test_without_by_all_callers_share_a_limit(desk: Desks) -> None:
    count = desk(limit('tool = "**"'))

    told = [count(caller=caller, being=caller) for caller in ("one", "two", "three")]

    assert told == [None, None, 1]


def test_a_limit_counts_only_what_its_words_match(desk: Desks) -> None:
    count = desk(
        limit('tool = "read"', 'server = "fs"', 'args.path = "/etc/**"', calls=1)
        + limit('method = "resources/read"', calls=1)
    )

    assert [count("read", arguments={"path": "/srv/a"}) for _ in range(3)] == [None] * 3
    assert [count("read", arguments={"path": "/etc/a"}, server="gh") for _ in range(2)] == [
        None
    ] * 2
    assert count("read", arguments={"path": "/etc/a"}) is None
    assert count("read", arguments={"path": "/srv/%2e%2e/etc/b"}) == 1


def test_a_call_above_one_limit_is_counted_in_no_other(desk: Desks) -> None:
    count = desk(
        limit('tool = "**"', 'by = "tool"', calls=1)
        + limit('tool = "**"', calls=3)
        + limit('tool = "**"', 'by = "caller"', calls=4)
    )

    assert [count() for _ in range(6)] == [None, 1, 1, 1, 1, 1]
    assert [count(name) for name in "abc"] == [None, None, 2]


def test_one_limit_asks_and_a_higher_one_denies(desk: Desks) -> None:
    count = desk(
        limit('tool = "**"', 'action = "prompt"', calls=1)
        + limit('tool = "**"', 'action = "deny"', calls=3)
    )
    assert count() is None

    asked = count.spent()

    assert asked is not None
    assert asked.action == "prompt"
    assert [count(approved=True) for _ in range(3)] == [None, None, 2]


def test_a_changed_number_of_calls_keeps_the_count(desk: Desks) -> None:
    before = desk(limit('tool = "**"', calls=2))
    assert [before() for _ in range(3)] == [None, None, 1]

    assert [desk(limit('tool = "**"', calls=3))() for _ in range(2)] == [None, 1]


def test_equal_limits_count_once(desk: Desks) -> None:
    count = desk(limit('tool = "**"', calls=4) + limit('tool = "**"', calls=2))

    assert [count() for _ in range(3)] == [None, None, 2]


def test_a_clock_that_is_ahead_opens_no_second_period(table: Table, clock: StillClock) -> None:
    text = limit('tool = "**"')
    clock.move(59)
    ahead = StillClock()
    ahead.move(61)
    count, others = Desk(table, clock, text), Desk(table, ahead, text)

    assert [others(), count(), others(), count()] == [None, None, 1, 1]


def test_a_clock_that_was_set_back_blocks_nobody(table: Table, clock: StillClock) -> None:
    later = StillClock()
    later.move(30 * 60)
    text = limit('tool = "**"', calls=1)
    assert Desk(table, later, text)() is None

    count = Desk(table, clock, text)

    assert [count(), count()] == [None, 1]


def test_counts_of_limits_that_are_gone_leave_the_item(table: Table, clock: StillClock) -> None:
    for number in range(5):
        Desk(table, clock, limit(f'tool = "t{number}"'))(f"t{number}")
    item = table.get(key_of("[]"))
    assert item is not None
    assert len(item) == 4 + 2 * 5

    for _ in range(50):
        clock.move(3600)
        Desk(table, clock, limit('tool = "t"'))("t")

    item = table.get(key_of("[]"))
    assert item is not None
    assert len(item) == 4 + 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2), st.integers(0, 90), st.sampled_from("ab"), st.sampled_from("xy")
        ),
        max_size=60,
    )
)
def test_any_processes_never_pass_a_limit_and_use_it_up(
    steps: list[tuple[int, int, str, str]],
) -> None:
    """Each step is a process, the seconds that pass before it, a tool and a caller."""
    database, clock = SqliteDatabase(":memory:"), StillClock()
    text = limit('tool = "a"', calls=3) + limit('tool = "**"', 'by = "caller"', calls=4)
    processes = [Desk(SqliteTable(database, now=clock), clock, text) for _ in range(3)]
    made: Counter[tuple[str, int]] = Counter()
    for process, seconds, tool, caller in steps:
        clock.move(seconds)
        minute = clock.at(0) // 60
        has_room = made[caller, minute] < 4 and (tool != "a" or made["tool a", minute] < 3)

        is_made = processes[process](tool, caller=caller) is None

        assert is_made == has_room
        made[caller, minute] += is_made
        made[f"tool {tool}", minute] += is_made
    database.close()


def test_64_threads_make_as_many_calls_as_the_limit_has(table: Table, clock: StillClock) -> None:
    text = limit('tool = "**"', calls=25)
    desks = [Desk(table, clock, text) for _ in range(8)]

    with ThreadPoolExecutor(64) as pool:
        told = list(pool.map(lambda number: desks[number % 8](), range(64)))

    assert told.count(None) == 25


class Meeting:
    """An item store whose two callers wait for each other before and after each update."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._barrier = threading.Barrier(2)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def update(self, *what: Any, **more: Any) -> Any:
        self._meet()
        item = self._table.update(*what, **more)
        self._meet()
        return item

    def leave(self) -> None:
        """Let the other one go on without this caller."""
        self._barrier.abort()

    def _meet(self) -> None:
        with suppress(threading.BrokenBarrierError):
            self._barrier.wait()


def test_of_two_calls_that_race_for_the_last_of_two_limits_one_is_made(
    table: Table, clock: StillClock
) -> None:
    # In the order of the file, one would begin with the server and the other with the caller.
    text = (
        limit('tool = "a"', 'by = "server"', calls=9, per="hour")
        + limit('tool = "**"', 'by = "caller"', calls=1)
        + limit('tool = "*"', 'by = "server"', calls=1)
    )
    meeting = Meeting(table)
    desk = Desk(cast("Table", meeting), clock, text)

    def ask(tool: str) -> int | None:
        try:
            return desk(tool)
        finally:
            meeting.leave()

    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(ask, "ab"))

    assert told.count(None) == 1


def test_threads_never_pass_limits_that_count_apart_and_use_them_up(
    table: Table, clock: StillClock
) -> None:
    text = limit('tool = "**"', calls=25) + limit('tool = "**"', 'by = "tool"', calls=15)
    desks = [Desk(table, clock, text) for _ in range(8)]

    with ThreadPoolExecutor(64) as pool:
        made = list(pool.map(lambda number: desks[number % 8]("ab"[number % 2]), range(64)))

    # A call that is just being given back may keep another one out, but takes nothing for good.
    assert made.count(None) <= 25
    later = [desks[0](tool) for tool in "abc" * 25]
    assert (made + later).count(None) == 25


class Counting:
    """An item store that counts what is asked of it."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.asked: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.asked[name] += 1
        return getattr(self._table, name)


def test_a_call_costs_one_write_however_many_limits_count_it(
    table: Table, clock: StillClock
) -> None:
    counting = Counting(table)
    text = limit('tool = "**"', calls=50) + limit('tool = "**"', calls=90, per="hour")
    count = Desk(cast("Table", counting), clock, text)

    for _ in range(50):
        assert count() is None

    assert counting.asked == {"get": 1, "update": 50}
    counting.asked.clear()
    assert [count() for _ in range(10)] == [1] * 10
    assert counting.asked == {"get": 10}


def _make_calls(path: str, text: str, count: int, made: Any) -> None:
    database = SqliteDatabase(path)
    clock = StillClock()
    desk = Desk(SqliteTable(database, now=clock), clock, text)
    with ThreadPoolExecutor(8) as pool:
        made.put(sum(told is None for told in pool.map(lambda _: desk(), range(count))))
    database.close()


def test_processes_together_make_as_many_calls_as_the_limit_has(tmp_path: Path) -> None:
    path, text = str(tmp_path / "data.db"), limit('tool = "**"', calls=40, per="day")
    SqliteDatabase(path).close()
    spawn = multiprocessing.get_context("fork")
    made = spawn.Queue()
    workers = [spawn.Process(target=_make_calls, args=(path, text, 16, made)) for _ in range(4)]
    for worker in workers:
        worker.start()
    counts = [made.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join()

    assert sum(counts) == 40
