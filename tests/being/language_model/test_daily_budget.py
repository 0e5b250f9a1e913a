"""A day's budget: never passed, whoever asks at one time."""

import threading

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.being.language_model.daily_budget import Budget, QuestionCost, Reservation, Spending
from nacre.being.memory.model import keys
from nacre.ports.items.table import Key, Table
from tests.adapters.conftest import StillClock
from tests.being.patrol.planner_world import being_in


def reserved(spending: Spending, being_id: str, *tokens: int) -> Reservation:
    reservation = spending.reserve(being_id, input_tokens=tokens[0], output_tokens=tokens[1])
    assert isinstance(reservation, Reservation), reservation
    return reservation


def test_what_is_set_aside_counts_until_it_is_settled(table: Table, clock: StillClock) -> None:
    ann = being_in(table, clock)
    spending = Spending(table, Budget(tokens=1000), clock=clock)

    first = reserved(spending, ann, 300, 600)
    refused = spending.reserve(ann, input_tokens=50, output_tokens=51)
    spending.settle(first, input_tokens=200, output_tokens=100)
    second = reserved(spending, ann, 300, 400)
    spending.settle(second, input_tokens=0, output_tokens=0)

    assert isinstance(refused, str)
    assert refused.startswith("spend cap of the day reached (1,000 tokens)")
    spent = spending.of_today(ann)
    assert (spent.input_tokens, spent.output_tokens, spent.questions) == (200, 100, 2)
    assert isinstance(reserved(spending, ann, 700, 0), Reservation)
    assert isinstance(spending.reserve(ann, input_tokens=1, output_tokens=0), str)


def test_one_question_that_is_too_dear_is_refused_at_once(table: Table, clock: StillClock) -> None:
    ann = being_in(table, clock)
    spending = Spending(table, Budget(tokens=100), clock=clock)

    assert isinstance(spending.reserve(ann, input_tokens=100, output_tokens=1), str)
    assert table.get(Key(keys.home(ann), "SPEND#2026-07-28")) is None
    assert isinstance(reserved(spending, ann, 100, 0), Reservation)


def test_a_new_day_begins_at_midnight_in_utc(table: Table, clock: StillClock) -> None:
    ann = being_in(table, clock)
    spending = Spending(table, Budget(tokens=100), clock=clock)
    reservation = reserved(spending, ann, 100, 0)
    assert isinstance(spending.reserve(ann, input_tokens=1, output_tokens=0), str)

    clock.move(12 * 3600)
    reserved(spending, ann, 100, 0)
    spending.settle(reservation, input_tokens=80, output_tokens=0)

    assert spending.of_today(ann).input_tokens == 0
    before = table.get(Key(keys.home(ann), "SPEND#2026-07-28"))
    assert before is not None
    assert before["tokens"] == before["input_tokens"] == 80


def test_dollars_are_a_bound_too(table: Table, clock: StillClock) -> None:
    ann = being_in(table, clock)
    budget = Budget(tokens=0, dollars=0.01, input_price=0.4, output_price=1.6)
    spending = Spending(table, budget, clock=clock)

    first = reserved(spending, ann, 10_000, 3_000)  # 0.0088 dollars
    refused = spending.reserve(ann, input_tokens=4_000, output_tokens=0)
    spending.settle(first, input_tokens=5_000, output_tokens=1_000)  # 0.0036 dollars

    assert isinstance(refused, str)
    assert "0.01 dollars" in refused
    assert spending.of_today(ann).dollars == pytest.approx(0.0036)
    assert isinstance(reserved(spending, ann, 16_000, 0), Reservation)
    assert isinstance(spending.reserve(ann, input_tokens=1, output_tokens=0), str)


def test_without_a_bound_everything_is_counted_and_nothing_refused(
    table: Table, clock: StillClock
) -> None:
    ann = being_in(table, clock)
    spending = Spending(table, Budget(tokens=0), clock=clock)

    spending.settle(reserved(spending, ann, 10**9, 10**9), input_tokens=7, output_tokens=8)

    spent = spending.of_today(ann)
    assert (spent.input_tokens, spent.output_tokens) == (7, 8)


def test_a_being_that_is_gone_gets_no_item_again(table: Table, clock: StillClock) -> None:
    ann = being_in(table, clock)
    spending = Spending(table, Budget(tokens=1000), clock=clock)
    before = reserved(spending, ann, 1, 1)
    table.delete(keys.meta(ann))
    table.delete(before.key)

    spending.settle(before, input_tokens=1, output_tokens=1)

    assert spending.reserve(ann, input_tokens=1, output_tokens=1) == "there is no such Being"
    assert table.query(keys.home(ann)).items == ()


def test_many_at_one_time_stay_within_the_day(clock: StillClock) -> None:
    database = SqliteDatabase(":memory:")
    table = SqliteTable(database, now=clock)
    ann = being_in(table, clock)
    spending = Spending(table, Budget(tokens=1000), clock=clock)
    results: list[Reservation | str] = []
    threads = [
        threading.Thread(
            target=lambda: results.append(spending.reserve(ann, input_tokens=60, output_tokens=40))
        )
        for _ in range(16)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(isinstance(result, Reservation) for result in results) == 10
    database.close()


def test_whoever_counts_is_told_of_each_question(table: Table, clock: StillClock) -> None:
    ann = being_in(table, clock)
    costs: list[QuestionCost] = []
    budget = Budget(tokens=1000, input_price=0.5, output_price=2.0)
    spending = Spending(table, budget, clock=clock, on_question=costs.append)

    first = reserved(spending, ann, 300, 600)
    spending.reserve(ann, input_tokens=50, output_tokens=51)
    spending.reserve("0" * 8 + ann[8:], input_tokens=1, output_tokens=1)
    spending.settle(first, input_tokens=200, output_tokens=100)

    assert costs == [QuestionCost(was_put=False), QuestionCost(200, 100, dollars=0.0003)]
