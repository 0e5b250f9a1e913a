"""One worker at a time, on every item store."""

from datetime import timedelta
from uuid import uuid4

import pytest

from nacre.core.errors import ConditionFailedError, LeaseHeldError, LeaseLostError
from nacre.core.limits import CLOCK_TOLERANCE_SECONDS
from nacre.jobs.lease import Leases
from nacre.ports.items.table import Item, Key, Put, Table
from tests.adapters.conftest import StillClock


@pytest.fixture
def leases(table: Table, clock: StillClock) -> Leases:
    return Leases(table, now=clock, duration=timedelta(seconds=60))


@pytest.fixture
def key() -> Key:
    return Key(f"B#{uuid4()}", "LOCK#PATROL")


def test_a_lease_is_held_by_one(leases: Leases, key: Key, clock: StillClock) -> None:
    leases.take(key)
    clock.move(20)

    with pytest.raises(LeaseHeldError, match="LOCK#PATROL is held by someone else") as raised:
        leases.take(key)
    assert raised.value.seconds == 40


def test_leases_of_two_beings_do_not_meet(leases: Leases, key: Key) -> None:
    leases.take(key)
    leases.take(Key(f"{key.pk}2", key.sk))


def test_a_lease_that_was_given_back_is_free(leases: Leases, key: Key) -> None:
    first = leases.take(key)
    leases.give_back(first)

    assert leases.take(key).fence > first.fence


def test_a_lease_whose_time_ran_out_is_free_and_its_holder_learns_it(
    leases: Leases, key: Key, clock: StillClock
) -> None:
    first = leases.take(key)
    clock.move(60)
    second = leases.take(key)

    assert second.fence > first.fence
    with pytest.raises(LeaseLostError, match="taken over"):
        leases.renew(first)
    leases.give_back(first)
    with pytest.raises(LeaseHeldError):
        leases.take(key)


def test_a_renewed_lease_is_held_for_its_whole_time_again(
    leases: Leases, key: Key, clock: StillClock
) -> None:
    lease = leases.take(key)
    for _ in range(3):
        clock.move(59)
        leases.renew(lease)
    clock.move(59)

    with pytest.raises(LeaseHeldError):
        leases.take(key)


def test_a_worker_that_renews_often_writes_once_in_a_while(
    leases: Leases, table: Table, key: Key, clock: StillClock
) -> None:
    renew = leases.renewals(leases.take(key))
    ends = []
    for _ in range(100):
        clock.move(1)
        renew()
        ends.append((table.get(key) or {})["until"])
        with pytest.raises(LeaseHeldError):
            leases.take(key)

    assert len(set(ends)) == 26  # every four seconds of its sixty, and the first end
    clock.move(-30)
    renew()
    assert (table.get(key) or {})["until"] != ends[-1]


def test_a_worker_that_was_stopped_learns_at_once_that_another_has_its_lease(
    leases: Leases, key: Key, clock: StillClock
) -> None:
    renew = leases.renewals(leases.take(key))
    clock.move(3)
    renew()
    clock.move(58)
    leases.take(key)

    with pytest.raises(LeaseLostError):
        renew()


def test_a_lease_that_was_given_back_is_not_renewed(leases: Leases, key: Key) -> None:
    lease = leases.take(key)
    leases.give_back(lease)

    with pytest.raises(LeaseLostError):
        leases.renew(lease)


def test_a_fence_never_begins_anew(leases: Leases, key: Key, clock: StillClock) -> None:
    fences = []
    for _ in range(5):
        lease = leases.take(key)
        fences.append(lease.fence)
        leases.give_back(lease)
        clock.move(400 * 86400)

    assert fences == [1, 2, 3, 4, 5]


def test_a_writer_that_was_too_slow_meets_the_fence(
    leases: Leases, table: Table, key: Key, clock: StillClock
) -> None:
    item: Item = {"pk": key.pk, "sk": "PLAN", "schema": 1}
    slow = leases.take(key)
    table.transact([slow.still_held(), Put(item | {"by": "slow"})])
    clock.move(61)
    fast = leases.take(key)
    table.transact([fast.still_held(), Put(item | {"by": "fast"})])

    with pytest.raises(ConditionFailedError):
        table.transact([slow.still_held(), Put(item | {"by": "slow"})])
    assert table.get(Key(key.pk, "PLAN")) == item | {"by": "fast"}


@pytest.mark.parametrize("days", [-100, -1, 1, 100])
def test_a_clock_that_was_set_does_not_block_a_lease(
    leases: Leases, key: Key, clock: StillClock, days: int
) -> None:
    first = leases.take(key)
    clock.move(86400 * days)
    second = leases.take(key)

    assert second.fence > first.fence
    with pytest.raises(LeaseLostError):
        leases.renew(first)


def test_a_holder_goes_on_although_the_clock_was_set_back_meanwhile(
    leases: Leases, key: Key, clock: StillClock
) -> None:
    first = leases.take(key)
    clock.move(-86400)
    leases.renew(first)

    with pytest.raises(LeaseHeldError) as raised:
        leases.take(key)
    assert raised.value.seconds == 60
    clock.move(60)
    assert leases.take(key).fence > first.fence


def test_a_machine_whose_clock_is_a_little_behind_takes_no_lease_that_is_held(
    leases: Leases, key: Key, clock: StillClock
) -> None:
    leases.take(key)
    clock.move(-CLOCK_TOLERANCE_SECONDS)

    with pytest.raises(LeaseHeldError):
        leases.take(key)


class Hall:
    """Processes of a test: who asks, and who has ended."""

    def __init__(self, me: str | None, ended: set[str]) -> None:
        self.me = me
        self._ended = ended

    def is_gone(self, name: str) -> bool:
        return name in self._ended


def test_a_lease_whose_process_has_ended_is_free_at_once(
    table: Table, key: Key, clock: StillClock
) -> None:
    ended: set[str] = set()
    first, second, stranger = (
        Leases(table, now=clock, holders=Hall(me, ended)) for me in ("one", "two", None)
    )
    left = first.take(key)
    for other in (second, stranger, Leases(table, now=clock)):
        with pytest.raises(LeaseHeldError):
            other.take(key)

    ended.add("one")
    with pytest.raises(LeaseHeldError):
        Leases(table, now=clock).take(key)  # knows nothing of processes
    taken = second.take(key)

    assert taken.fence > left.fence
    with pytest.raises(LeaseLostError):
        first.renew(left)
    first.give_back(left)
    with pytest.raises(LeaseHeldError):
        stranger.take(key)  # the second is alive
    second.give_back(taken)
    assert stranger.take(key).fence > taken.fence
    with pytest.raises(LeaseHeldError):
        second.take(key)  # nobody knows whose process it is, not even an old name


def test_of_two_that_find_a_lease_left_behind_one_gets_it(
    table: Table, key: Key, clock: StillClock
) -> None:
    Leases(table, now=clock, holders=Hall("gone", set())).take(key)
    faster = Leases(table, now=clock, holders=Hall("faster", {"gone"}))

    class Slow(Hall):
        def is_gone(self, name: str) -> bool:
            faster.take(key)  # between looking and taking
            return super().is_gone(name)

    slower = Leases(table, now=clock, holders=Slow("slower", {"gone"}))

    with pytest.raises(LeaseHeldError):
        slower.take(key)
