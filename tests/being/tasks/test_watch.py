"""The watch over an attempt: what it keeps up, and what makes it give up."""

import threading
from collections.abc import Callable
from itertools import count

import pytest

from nacre.being.tasks.watch import AttemptWatch, TaskChannel
from nacre.core.coroutines import step
from nacre.core.errors import ClientCapabilityError, LeaseLostError, UnavailableError
from nacre.core.limits import TASK_MESSAGE_CHARS, TASK_RENEW_SECONDS


def watched(
    tell: Callable[[str | None], bool] = lambda _: True,
    renew: Callable[[], None] = lambda: None,
    *,
    step_seconds: float = 1.0,
    seconds: float = 1e9,
) -> tuple[AttemptWatch, TaskChannel]:
    """Return a watch whose clock goes on by so much at each look."""
    channel, times = TaskChannel(), count(0.0, step_seconds)
    watch = AttemptWatch(
        channel, tell, renew, seconds=seconds, every=0.001, monotonic=lambda: next(times)
    )
    return watch, channel


def test_a_lease_is_renewed_again_and_again() -> None:
    renewed, enough = [], threading.Event()

    def renew() -> None:
        renewed.append(1)
        if len(renewed) == 3:
            enough.set()

    watch, channel = watched(renew=renew, step_seconds=TASK_RENEW_SECONDS)
    with watch:
        assert enough.wait(60)

    assert not channel.cancelled


def test_a_lease_is_not_renewed_before_its_time() -> None:
    looks, enough = [], threading.Event()

    def tell(_message: str | None) -> bool:
        looks.append(1)
        if len(looks) == 20:
            by_then.extend(renewed)
            enough.set()
        return True

    renewed: list[int] = []
    by_then: list[int] = []
    watch, _ = watched(tell, lambda: renewed.append(1), step_seconds=TASK_RENEW_SECONDS / 30)
    with watch:
        assert enough.wait(60)

    assert by_then == []


@pytest.mark.parametrize("lost", ["the lease", "the task", "the time"])
def test_an_attempt_is_stopped_when_it_is_in_vain(lost: str) -> None:
    stopped = threading.Event()

    def renew() -> None:
        raise LeaseLostError("taken over")

    watch, channel = watched(
        (lambda _: False) if lost == "the task" else (lambda _: True),
        renew if lost == "the lease" else (lambda: None),
        step_seconds=TASK_RENEW_SECONDS,
        seconds=100 if lost == "the time" else 1e9,
    )
    watch.on_stop(stopped.set)
    with watch:
        assert stopped.wait(60)

    assert channel.cancelled
    assert watch.is_too_long == (lost == "the time")


def test_who_comes_late_to_be_stopped_is_stopped_at_once() -> None:
    first, second = threading.Event(), threading.Event()
    watch, _ = watched(lambda _: False)
    watch.on_stop(first.set)
    with watch:
        assert first.wait(60)
        watch.on_stop(second.set)
        assert second.is_set()


def test_a_store_that_is_away_for_a_moment_stops_nothing() -> None:
    messages, enough = [], threading.Event()

    def tell(message: str | None) -> bool:
        messages.append(message)
        if len(messages) > 5:
            enough.set()
        if len(messages) < 4:
            raise UnavailableError("away")
        return True

    def renew() -> None:
        raise UnavailableError("away")

    watch, channel = watched(tell, renew, step_seconds=TASK_RENEW_SECONDS)
    channel.notify("notifications/progress", {"progress": 1, "message": "half"})
    with watch:
        assert enough.wait(60)

    assert not channel.cancelled
    # What could not be kept is tried again, and then is not said twice.
    assert messages[:6] == ["1: half"] * 4 + [None] * 2


def test_progress_is_one_line_and_nothing_else_is_taken() -> None:
    channel = TaskChannel()
    channel.notify("notifications/message", {"level": "error", "data": "x"})
    assert channel.progress is None
    channel.notify("notifications/progress", {"progress": 2, "total": 5})
    assert channel.progress == "2 of 5"
    channel.notify("notifications/progress", {"progress": 2.5, "message": "x" * 1000})
    assert channel.progress is not None
    assert len(channel.progress) == TASK_MESSAGE_CHARS


def test_nobody_is_there_to_be_asked() -> None:
    with pytest.raises(ClientCapabilityError):
        step(TaskChannel().ask("elicitation/create", {}))
