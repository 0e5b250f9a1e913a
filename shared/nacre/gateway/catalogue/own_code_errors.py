"""Errors of a user's tools: whatever one raises ends only its call."""

import threading
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class OwnCodeError(Exception):
    """A user's tool raised something that would end more than its call."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"it raised {type(error).__name__}")
        self.raised = self.__cause__ = error


async def contain_exit(work: Awaitable[T], *, has_terminal: bool) -> T:
    """Return the result of the work; raises OwnCodeError if it would end the server.

    With a terminal, Ctrl-C in the main thread is passed on; Python raises it in no other thread.
    A call that is cancelled stays cancelled.
    """
    try:
        return await work
    except Exception:
        raise
    except BaseException as error:
        if (has_terminal and is_ctrl_c(error)) or _is_cancelled(error):
            raise
        raise OwnCodeError(error) from error


def is_ctrl_c(error: BaseException) -> bool:
    """Tell whether somebody may have pressed Ctrl-C, which ends the program."""
    is_main = threading.current_thread() is threading.main_thread()
    return isinstance(error, KeyboardInterrupt) and is_main


def _is_cancelled(error: BaseException) -> bool:
    """Tell whether the call was cancelled from outside, and the error not raised by the code."""
    if isinstance(error, GeneratorExit):
        return False
    import asyncio  # noqa: PLC0415 - few calls need it, and it slows a cold start

    if not isinstance(error, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0
