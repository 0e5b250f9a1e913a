"""Running a handler's coroutine in a thread without an event loop."""

from collections.abc import Awaitable, Coroutine
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

T = TypeVar("T")
_thread = local()
_SUSPENDED = "a handler marked as blocking awaited an event loop"


def step(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, without an event loop, and return its result.

    A coroutine that suspends gets a RuntimeError at that place.
    """
    is_outermost = not is_stepping()
    _thread.is_stepping = True
    try:
        coroutine.send(None)
        coroutine.throw(RuntimeError(_SUSPENDED))
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        if is_outermost:
            _thread.is_stepping = False
    coroutine.close()
    raise RuntimeError(_SUSPENDED)


def is_stepping() -> bool:
    """Tell whether `step` runs the code that asks, so that it may block and must not suspend."""
    return getattr(_thread, "is_stepping", False)


def is_in_loop() -> bool:
    """Tell whether there is an event loop to await; a blocking handler has none."""
    import asyncio  # noqa: PLC0415 - as for Looper

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class Looper:
    """Runs coroutines on one event loop that is made on first use and kept.

    Importing asyncio costs more than all of the wire core, so a function that
    only ever runs blocking handlers never does.
    """

    def __init__(self) -> None:
        self._loop: AbstractEventLoop | None = None

    def run(self, coroutine: Awaitable[T]) -> T:
        """Run the coroutine and return its result."""
        import asyncio  # noqa: PLC0415 - see the class's reason
        import weakref  # noqa: PLC0415

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            # Not by __del__: in a cycle, the loop's own may run first and warn.
            weakref.finalize(self, self._loop.close)

        async def main() -> T:
            return await coroutine

        return self._loop.run_until_complete(main())
