"""Running a task's handler in the worker, in a way that it can be stopped."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from nacre.being.tasks.watch import Watch
from nacre.core.coroutines import step

T = TypeVar("T")


class GivenUp(Exception):  # noqa: N818 - no error: somebody wanted it so
    """The attempt was stopped before its handler came to an end."""


def run_handler(begin: Callable[[], Coroutine[Any, Any, T]], *, blocking: bool, watch: Watch) -> T:
    """Return what the handler returns; raises GivenUp when the watch stopped it.

    A handler that blocks sees that it is given up and ends by itself, or does not.
    """
    if blocking:
        return step(begin())
    import asyncio  # noqa: PLC0415 - most work blocks, and this costs more than all before it

    async def main() -> T:
        loop = asyncio.get_running_loop()
        work = asyncio.ensure_future(_awaited(begin()))

        def stop() -> None:
            loop.call_soon_threadsafe(work.cancel)

        watch.on_stop(stop)
        try:
            return await work
        except asyncio.CancelledError:
            raise GivenUp from None
        finally:
            watch.on_stop(_nothing)

    return asyncio.run(main())


async def _awaited(work: Awaitable[T]) -> T:
    return await work


def _nothing() -> None:
    return
