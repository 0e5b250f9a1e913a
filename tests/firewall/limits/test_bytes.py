"""Budgets of bytes: arguments when a call is made, results when they are there."""

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.firewall.limits.call_limits import Running, Spent
from nacre.firewall.limits.counters import key_of
from nacre.ports.items.table import Table
from nacre.protocol.large_calls import ArgumentsSummary, LargeArguments
from tests.adapters.conftest import StillClock
from tests.firewall.limits.test_call_limits import Counting, Desk, limit

CUT = '[[limit]]\ntool = "**"\nresult_bytes = 1000\n'


def budget(amount: int, *lines: str, per: str = "minute") -> str:
    return "\n".join(["[[limit]]", f"bytes = {amount}", f'per = "{per}"', *lines, ""])


ALL = 'tool = "**"'


def sending(size: int) -> dict[str, Any]:
    """Return arguments of so many bytes of JSON."""
    arguments = {"a": "x" * (size - len('{"a":""}'))}
    return {"arguments": arguments}


def start(desk: Desk, size: int = 10, **facts: Any) -> Running:
    spent, running = desk.ask(**sending(size), **facts)
    assert spent is None
    assert running is not None
    return running


def used(table: Table, group: str = "[]") -> int:
    """Return the bytes that are counted for a group with one limit."""
    item = table.get(key_of(group)) or {}
    [value] = [value for name, value in item.items() if name.startswith("used_")]
    assert isinstance(value, int)
    return value


def test_arguments_and_results_use_a_budget_up(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, budget(1000, ALL))
    start(desk, 100).end(600)
    start(desk, 100).end(150)
    assert used(table) == 950

    spent = desk.spent(**sending(51))

    assert spent is not None
    assert spent.text == (
        "Blocked by policy (limit 1): the limit of 1,000 bytes a minute does not have enough left"
        " for this call; try again in 60 seconds"
    )
    start(desk, 50).end()
    clock.move(60)
    start(desk, 1000)


def test_a_call_may_pass_the_budget_by_its_own_result_and_no_call_follows(
    table: Table, clock: StillClock
) -> None:
    desk = Desk(table, clock, budget(1000, ALL))

    start(desk).end(5000)

    assert used(table) == 5010
    assert desk() == 1


def test_arguments_above_the_whole_budget_say_so(table: Table, clock: StillClock) -> None:
    spent = Desk(table, clock, budget(100, ALL)).spent(**sending(101))

    assert spent is not None
    assert spent.text == (
        "Blocked by policy (limit 1): this call has 101 bytes of arguments,"
        " more than the limit of 100 bytes a minute"
    )


def test_a_result_that_may_be_cut_is_reserved(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, budget(2500, ALL) + CUT)
    first, second = start(desk), start(desk)
    assert used(table) == 2020
    assert desk() == 1

    first.end(100)

    assert used(table) == 1120
    start(desk)
    second.end(1000)


def test_a_reserve_is_never_more_than_the_budget(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, budget(500, ALL) + CUT)

    running = start(desk, 100)

    assert used(table) == 500
    assert desk() == 1
    running.end(50)
    assert used(table) == 150


def test_a_result_counts_in_the_periods_that_still_last(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, budget(5000, ALL) + budget(1000, ALL, per="hour"))
    running = start(desk)
    clock.move(60)
    start(desk).end()

    running.end(2000)

    spent = desk.spent()
    assert spent is not None
    assert spent.limit.number == 2
    item = table.get(key_of("[]")) or {}
    uses = {value for name, value in item.items() if name.startswith("used_")}
    assert uses == {10, 2020}


def test_calls_and_bytes_are_counted_in_one_write_and_results_in_another(
    table: Table, clock: StillClock
) -> None:
    counting = Counting(table)
    text = budget(100_000, ALL) + limit(ALL, calls=50) + budget(100_000, ALL, per="day")
    desk = Desk(cast("Table", counting), clock, text)

    for _ in range(20):
        start(desk).end(100)

    assert counting.asked == {"get": 1, "update": 40}
    counting.asked.clear()
    start(desk).end(0)
    assert counting.asked == {"update": 1}


def test_a_call_above_another_limit_uses_no_bytes(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, budget(100, ALL, 'by = "tool"') + limit(ALL, calls=1))
    start(desk).end()

    assert [desk.ask(**sending(10))[0] is None for _ in range(3)] == [False] * 3
    assert used(table, '[["tool","mcp__fs__search"]]') == 10


def test_a_large_call_counts_as_its_message(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, budget(100_000, ALL))
    large = LargeArguments(b"x" * 60_000, ArgumentsSummary("0" * 64, {}))

    assert desk(arguments=large) is None
    assert desk(arguments=large) == 1


def test_each_group_has_its_own_budget(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, budget(20, ALL, 'by = "being"'))

    told = [desk.spent(**sending(20), being=being) for being in ("b1", "b2", "b1")]

    assert [spent is None for spent in told] == [True, True, False]


@pytest.mark.parametrize("approved", [False, True])
def test_an_approval_lifts_a_budget_that_asks(
    table: Table, clock: StillClock, approved: bool
) -> None:
    desk = Desk(table, clock, budget(20, ALL, 'action = "prompt"'))
    start(desk, 20)

    spent = desk.spent(approved=approved)

    assert (spent is None) is approved
    assert isinstance(spent, Spent) is not approved


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["start", "end", "wait"]),
        st.integers(0, 2),
        st.integers(10, 400),
        st.integers(0, 1000),
    ),
    max_size=50,
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.booleans())
def test_any_history_makes_the_calls_that_the_budget_has_room_for(
    steps: list[tuple[str, int, int, int]], reserves: bool
) -> None:
    """Each step is what happens, the process, the bytes of the arguments, and of a result."""
    database, clock = SqliteDatabase(":memory:"), StillClock()
    text = budget(2000, ALL) + (CUT if reserves else "")
    processes = [Desk(SqliteTable(database, now=clock), clock, text) for _ in range(3)]
    running: list[tuple[int, int, int, Running]] = []
    counted: Counter[int] = Counter()  # by minute
    for step, process, sent, number in steps:
        minute = clock.at(0) // 60
        match step:
            case "wait":
                clock.move(number / 20)
            case "end" if running:
                began, needed, arguments, call = running.pop(number % len(running))
                call.end(number)
                if began == minute:
                    counted[minute] += arguments + number - needed
            case "start":
                needed = sent + (min(1000, 2000 - sent) if reserves else 0)
                has_room = counted[minute] + needed <= 2000

                spent, call_or_none = processes[process].ask(**sending(sent))

                assert (spent is None) == has_room
                if call_or_none is not None:
                    counted[minute] += needed
                    running.append((minute, needed, sent, call_or_none))
            case _:
                continue
        if reserves:
            assert counted[minute] <= 2000
    database.close()


@pytest.mark.parametrize("reserves", [False, True])
def test_64_callers_never_use_more_than_the_budget(
    table: Table, clock: StillClock, reserves: bool
) -> None:
    text = budget(20_000, ALL) + (CUT if reserves else "")
    desks = [Desk(table, clock, text) for _ in range(8)]
    lock, arguments, results = threading.Lock(), Counter[str](), list[int]()

    def caller(number: int) -> None:
        chance = random.Random(number)
        for _ in range(3):
            sent, returned = chance.randint(10, 500), chance.randint(0, 1000)
            spent, running = desks[number % 8].ask(**sending(sent))
            if spent is not None:
                continue
            assert running is not None
            with lock:
                arguments["sent"] += sent
                results.append(returned)
            running.end(returned)

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(caller, range(64)))

    total = arguments["sent"] + sum(results)
    assert used(table) == total  # nothing is lost, and nothing counts twice
    if reserves:
        assert total <= 20_000
    else:
        assert arguments["sent"] <= 20_000
        # Without a reserve only the results of calls at the same time are above the budget.
        assert total <= 20_000 + sum(sorted(results)[-64:])
    assert total > 15_000
