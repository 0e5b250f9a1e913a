"""Running a handler's coroutine where there is no event loop yet."""

from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")


def step(coroutine: Awaitable[T]) -> T:
    """Return what a coroutine that never suspends returns, without an event loop."""
    assert isinstance(coroutine, Coroutine)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError("a handler marked as blocking awaited an event loop")


class Looper:
    """Runs coroutines on one event loop that is made on first use and kept.

    Importing asyncio costs more than all of the wire core, so a function that
    only ever runs blocking handlers never does.
    """

    def __init__(self) -> None:
        self._loop: AbstractEventLoop | None = None

    def run(self, coroutine: Awaitable[T]) -> T:
        """Return what the coroutine returns."""
        import asyncio  # noqa: PLC0415 - see the class's reason

        if self._loop is None:
            self._loop = asyncio.new_event_loop()

        async def main() -> T:
            return await coroutine

        return self._loop.run_until_complete(main())

    def __del__(self) -> None:
        if self._loop is not None:
            self._loop.close()
