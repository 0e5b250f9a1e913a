"""Many Beings with work: counted on the stack's own handlers, and simulated for a hundred thousand.

NACRE_SWEPT_BEINGS sets how many the counted run has.
"""

import json
import os
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from infra.cost import Load, measured
from infra.patrol_capacity import (
    BEINGS,
    CONCURRENCY,
    SWEEP_REQUESTS,
    TABLE_WRITES,
    patrol_seconds,
    patrol_writes,
    simulate,
)
from nacre.access.beings import Beings
from nacre.adapters.aws.dynamodb.table import DynamoTable
from nacre.being.memory.model import keys
from nacre.core.clock import system_clock
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Change
from tests.end_to_end.load.counting import Functions, functions
from tests.infra.declared import template

SOME = 20  # of them are patrolled: the fake tables copy all that they hold for a transaction
MANY = int(os.environ.get("NACRE_SWEPT_BEINGS", "60"))


def test_a_hundred_thousand_beings_are_patrolled_within_a_quarter_of_an_hour() -> None:
    result = simulate(BEINGS, CONCURRENCY)

    assert result.swept_seconds < 120
    assert result.seconds < 15 * 60
    assert result.write_units_a_second < TABLE_WRITES
    assert simulate(BEINGS, 5).seconds > 15 * 60  # the simulation can tell
    least = template()["Parameters"]["PatrolConcurrency"]["Default"]
    assert simulate(2000, least).seconds < 15 * 60


def test_a_simulation_agrees_with_its_sums_by_hand() -> None:
    load = replace(Load(), dynamodb_ms=10)
    counts = measured()["counted"][load.searches]["sizes"][0]["patrol"]
    requests = sum(times for times, _ in counts["asked"].values())
    one = patrol_seconds(counts["scenes"], load)

    assert one == pytest.approx(requests * 0.010 + counts["processor_ms"] / 1000)
    assert patrol_writes(counts["scenes"], load) == sum(
        units
        for name, (_, units) in counts["asked"].items()
        if "Get" not in name and name != "Query"
    )
    # One worker does the sweep and then each patrol; ten do as much in a tenth of the time.
    alone = simulate(300, 1, scenes=counts["scenes"], load=load, started_a_second=1000)
    ten = simulate(300, 10, scenes=counts["scenes"], load=load, started_a_second=1000)
    assert alone.seconds == pytest.approx(
        300 * (one + 0.1) + 300 * SWEEP_REQUESTS * 0.010, rel=0.01
    )
    assert ten.seconds == pytest.approx(alone.seconds / 10, rel=0.1)
    assert alone.deepest == 300


def test_every_being_of_a_simulation_is_swept_once() -> None:
    for beings in (1, 999, 1000, 1001, 5003):
        assert simulate(beings, 1000, started_a_second=10**6).deepest <= beings


def look_without_end(stack: Functions) -> None:
    """Let messages be looked at more often than they may be delivered."""
    url = stack.settings.queue_url
    sqs = stack.stack.sqs
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])
    policy = {**json.loads(found["Attributes"]["RedrivePolicy"]), "maxReceiveCount": 1000}
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": json.dumps(policy)})


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_sweep_of_many_beings_asks_for_what_the_simulation_says() -> None:
    with functions("nacre-swept") as stack:
        table = DynamoTable(stack.stack.dynamodb, stack.settings.data_table)
        beings = Beings(table, clock=system_clock, rng=Random(8))
        names = set()
        for number in range(MANY):
            being_id = beings.create("Many", owner=f"owner-{number}").being_id
            names.add(being_id)
            work: Any = {"gsi1pk": keys.work(being_id), "gsi1sk": being_id}
            table.update(keys.meta(being_id), Change(set=work))
        look_without_end(stack)
        stack.front.bill()

        swept = stack.sweep()
        while stack.sweeps_wait():  # a slow machine spreads them over several jobs
            for operation, asked in stack.work_sweeps().items():
                swept.setdefault(operation, asked).times += asked.times
        sent = Counter(stack.queued_beings())
        again = stack.sweep()
        patrols = stack.work(SOME)
        left = [
            item
            for partition in keys.work_partitions()
            for item in every_item(table, partition, index="gsi1")
        ]
        idle = stack.sweep()

    assert sent == Counter(names)
    assert swept["UpdateItem"].times <= MANY + 5
    assert swept["sqs:SendMessage"].times <= MANY + 40
    assert swept["Query"].times <= 100 + MANY // 50
    assert "sqs:SendMessage" not in again  # all are queued already
    assert len(left) == MANY - SOME
    assert patrols["UpdateItem"].times >= 2 * SOME  # the lease of each, taken and given back
    assert "sqs:SendMessage" not in idle
