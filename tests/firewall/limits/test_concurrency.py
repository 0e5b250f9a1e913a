"""Calls that run at the same time: how many may, and whose places are free again."""

import gc
import multiprocessing
import random
import threading
import weakref
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.errors import UnavailableError
from nacre.core.limits import CLOCK_TOLERANCE_SECONDS, LIMIT_PLACE_SECONDS
from nacre.firewall.limits.call_limits import Running
from nacre.firewall.limits.counters import key_of
from nacre.ports.items.table import Table
from tests.adapters.conftest import StillClock
from tests.firewall.limits.test_call_limits import Counting, Desk, limit

GONE_SECONDS = LIMIT_PLACE_SECONDS + CLOCK_TOLERANCE_SECONDS + 1


def at_once(amount: int, *lines: str) -> str:
    return "\n".join(["[[limit]]", f"concurrency = {amount}", *lines, ""])


def start(desk: Desk, tool: str = "search", **facts: Any) -> Running:
    spent, running = desk.ask(tool, **facts)
    assert spent is None
    assert running is not None
    return running


def test_a_call_waits_until_another_one_has_ended(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, at_once(2, 'tool = "search"'))
    first = start(desk)
    start(desk)

    spent = desk.spent()

    assert spent is not None
    assert spent.action == "deny"
    assert spent.text == (
        "Blocked by policy (limit 1): the limit of 2 calls at a time is reached;"
        " try again in 5 seconds"
    )
    assert desk("other") is None
    first.end()
    assert desk() is None
    assert desk() == 1


def test_a_call_ends_once(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, at_once(2, 'tool = "**"'))
    first = start(desk)
    start(desk)
    first.end()
    first.end()

    assert [desk(), desk()] == [None, 1]


def test_a_call_without_a_limit_of_calls_at_a_time_has_no_place(
    table: Table, clock: StillClock
) -> None:
    desk = Desk(table, clock, at_once(2, 'tool = "search"') + limit('tool = "**"'))

    assert desk.ask("other") == (None, None)


@pytest.mark.parametrize(
    ("by", "apart"),
    [("server", {"server": "gh"}), ("caller", {"caller": "t2"}), ("being", {"being": "b2"})],
)
def test_each_group_has_its_own_places(
    table: Table, clock: StillClock, by: str, apart: dict[str, str]
) -> None:
    desk = Desk(table, clock, at_once(1, 'tool = "**"', f'by = "{by}"'))
    facts: Any = apart

    assert [desk(), desk(**facts)] == [None, None]
    assert [desk(), desk(**facts)] == [1, 1]


def test_the_place_of_a_crashed_process_is_free_after_a_while(
    table: Table, clock: StillClock
) -> None:
    text = at_once(1, 'tool = "**"')
    late = start(Desk(table, clock, text))
    others = Desk(table, clock, text)
    clock.move(GONE_SECONDS - 1)
    assert others() == 1
    clock.move(1)

    assert others() is None

    late.end()  # it ran all the time, and takes nobody's place away
    assert others() == 1


def test_the_places_of_a_large_crash_are_free_after_a_while(
    table: Table, clock: StillClock
) -> None:
    text = at_once(55, 'tool = "**"')
    crashed = Desk(table, clock, text)
    lost = [start(crashed) for _ in range(55)]
    assert crashed() == 1
    clock.move(GONE_SECONDS)

    assert [Desk(table, clock, text)() for _ in range(30)] == [None] * 30
    del lost


def test_a_clock_that_was_set_back_blocks_nobody(table: Table, clock: StillClock) -> None:
    later = StillClock()
    later.move(7200)
    text = at_once(1, 'tool = "**"')
    start(Desk(table, later, text))

    assert Desk(table, clock, text)() is None


def test_a_call_above_another_limit_takes_no_place(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, at_once(1, 'tool = "**"') + limit('tool = "**"', calls=2))

    start(desk).end()
    start(desk).end()

    assert [desk(), desk()] == [2, 2]
    clock.move(60)
    running = start(desk)
    assert desk() == 1
    running.end()
    assert desk() is None


def test_a_limit_that_asks_is_lifted_by_an_approval(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, at_once(1, 'tool = "**"', 'action = "prompt"'))
    start(desk)

    spent = desk.spent()

    assert spent is not None
    assert spent.action == "prompt"
    assert desk(approved=True) is None


def test_a_process_that_closes_gives_its_places_back(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, at_once(2, 'tool = "**"'))
    running = [start(desk), start(desk)]

    desk.limits.end_all()

    assert [desk(), desk(), desk()] == [None, None, 1]
    assert len(running) == 2


def test_a_closing_process_gives_places_back_that_nobody_holds(
    table: Table, clock: StillClock
) -> None:
    desk = Desk(table, clock, at_once(1, 'tool = "**"'))
    start(desk)
    gc.collect()

    desk.limits.end_all()

    assert [desk(), desk()] == [None, 1]


def test_calls_that_have_ended_are_not_remembered(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, at_once(1, 'tool = "**"'))
    ended = weakref.ref(start(desk))
    assert ended() is not None
    desk.limits.end_all()
    gc.collect()

    assert ended() is None


def test_an_end_that_cannot_be_stored_is_told(
    table: Table, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    desk = Desk(table, clock, at_once(1, 'tool = "**"'))
    desk.limits._tell = told.append
    running = start(desk)

    def fail(*_: Any, **__: Any) -> None:
        raise UnavailableError("the disk is full")

    monkeypatch.setattr(type(table), "update", fail)
    running.end()

    assert told == ["the limits of a finished call could not be updated: the disk is full"]


def test_a_call_costs_two_writes_and_nothing_when_all_places_are_taken(
    table: Table, clock: StillClock
) -> None:
    counting = Counting(table)
    text = at_once(3, 'tool = "**"') + at_once(5, 'tool = "search"')
    desk = Desk(cast("Table", counting), clock, text)
    for _ in range(20):
        start(desk).end()
    assert counting.asked == {"get": 1, "update": 40}

    running = [start(desk) for _ in range(3)]
    counting.asked.clear()
    assert [desk() for _ in range(10)] == [1] * 10
    assert counting.asked == {"get": 10}
    del running


def test_the_places_of_forty_calls_are_one_write_unit(table: Table, clock: StillClock) -> None:
    desk = Desk(table, clock, at_once(40, 'tool = "**"'))
    running = [start(desk) for _ in range(40)]

    item = table.get(key_of("[]", "PLACES"))

    assert item is not None
    # As DynamoDB counts: names and texts by their bytes, a number by half of its digits and two.
    sizes = (
        len(name) + (len(str(value)) if name in ("pk", "sk") else 8) for name, value in item.items()
    )
    assert sum(sizes) <= 1024
    del running


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["start", "end", "crash", "wait"]),
            st.integers(0, 2),
            st.integers(0, 1200),
            st.sampled_from("ab"),
        ),
        max_size=60,
    )
)
def test_any_history_has_as_many_calls_at_a_time_as_the_limits_allow(
    steps: list[tuple[str, int, int, str]],
) -> None:
    """Each step is what happens, the process, a number or seconds, and a tool."""
    database, clock = SqliteDatabase(":memory:"), StillClock()
    text = at_once(3, 'tool = "**"') + at_once(2, 'tool = "**"', 'by = "tool"')
    processes = [Desk(SqliteTable(database, now=clock), clock, text) for _ in range(3)]
    running: list[tuple[int, str, Running]] = []  # the time of the start, the tool
    lost: list[tuple[int, str]] = []
    for step, process, number, tool in steps:
        match step:
            case "wait":
                clock.move(number / 4)
            case "end" if running:
                running.pop(number % len(running))[2].end()
            case "crash" if running:
                lost.append(running.pop(number % len(running))[:2])
            case "start":
                now = clock.at(0)
                held = [
                    held
                    for began, held in [*(entry[:2] for entry in running), *lost]
                    if now <= began + LIMIT_PLACE_SECONDS + CLOCK_TOLERANCE_SECONDS
                ]
                has_room = len(held) < 3 and Counter(held)[tool] < 2

                spent, place = processes[process].ask(tool)

                assert (spent is None) == has_room
                if place is not None:
                    running.append((now, tool, place))
            case _:
                continue
    database.close()


def test_64_callers_are_never_above_the_limit(table: Table, clock: StillClock) -> None:
    text = at_once(7, 'tool = "**"') + at_once(4, 'tool = "**"', 'by = "tool"')
    desks = [Desk(table, clock, text) for _ in range(8)]
    lock, together, highest, made = threading.Lock(), Counter[str](), Counter[str](), Counter[str]()

    def caller(number: int) -> None:
        chance = random.Random(number)
        for _ in range(3):
            tool = chance.choice("abc")
            try:
                spent, place = desks[number % 8].ask(tool)
            except UnavailableError:  # too many at once; the call is denied
                continue
            if spent is not None:
                continue
            assert place is not None
            with lock:
                together.update({"all": 1, tool: 1})
                made["all"] += 1
                for name in ("all", tool):
                    highest[name] = max(highest[name], together[name])
            with lock:
                together.subtract({"all": 1, tool: 1})
            place.end()

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(caller, range(64)))

    assert highest["all"] <= 7
    assert max(highest[tool] for tool in "abc") <= 4
    assert made["all"] > 0
    running = [desks[0].ask(tool)[1] for tool in "aabbccc"]
    assert None not in running  # every place was given back
    assert desks[0]("d") == 1


def _hold(path: str, text: str, count: int, started: Any, go_on: Any) -> None:
    database = SqliteDatabase(path)
    clock = StillClock()
    desk = Desk(SqliteTable(database, now=clock), clock, text)
    with ThreadPoolExecutor(8) as pool:
        admitted = [
            running for _, running in pool.map(lambda _: desk.ask(), range(count)) if running
        ]
    started.put(len(admitted))
    go_on.wait(60)
    database.close()


def test_processes_share_the_places(tmp_path: Path) -> None:
    path, text = str(tmp_path / "data.db"), at_once(10, 'tool = "**"')
    SqliteDatabase(path).close()
    fork = multiprocessing.get_context("fork")
    started, go_on = fork.Queue(), fork.Event()
    workers = [fork.Process(target=_hold, args=(path, text, 8, started, go_on)) for _ in range(4)]
    for worker in workers:
        worker.start()
    counts = [started.get(timeout=60) for _ in workers]
    go_on.set()
    for worker in workers:
        worker.join()

    assert sum(counts) == 10
