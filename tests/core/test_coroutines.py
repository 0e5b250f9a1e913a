"""Running coroutines where there is no event loop yet."""

import asyncio
import gc
import warnings

import pytest

from nacre.core.coroutines import Looper, step


async def immediate() -> int:
    return 7


async def suspended() -> int:
    await asyncio.sleep(0)
    return 8


def test_a_coroutine_that_never_suspends_needs_no_loop() -> None:
    assert step(immediate()) == 7


def test_a_coroutine_that_does_is_refused_without_one() -> None:
    with pytest.raises(RuntimeError, match="awaited an event loop"):
        step(suspended())


def test_one_loop_runs_one_coroutine_after_another() -> None:
    looper = Looper()

    assert [looper.run(suspended()), looper.run(immediate())] == [8, 7]


def test_the_loop_is_given_back_also_out_of_a_cycle() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(20):
            looper = Looper()
            looper.run(suspended())
            looper.itself = looper  # type: ignore[attr-defined]
            del looper
        gc.collect()

    assert [str(each.message) for each in seen if each.category is ResourceWarning] == []
