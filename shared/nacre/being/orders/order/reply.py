"""What an order has come to, which outlives the worker that found it.

A task whose worker dies is done once more. What its model has said by then is told to the next
attempt, so that nobody pays for it twice, no tool is called twice for it, and the client, the
session and the history agree on one answer.
"""

from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.protocol.context import TaskRun

_NOTE = "reply"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to an order, before it is kept."""

    text: str
    remarks: list[str]  # lines for the client, which are no part of the conversation
    has_noted: bool  # whether the model itself has recorded what should stay
    media: list[dict[str, Any]] = field(default_factory=list, repr=False)


def earlier_reply(task: TaskRun | None) -> Reply | None:
    """Return what an earlier attempt at the task has come to."""
    found = None if task is None else task.notes.get(_NOTE)
    return None if found is None else Reply(**found)


def tell_later_attempts(task: TaskRun | None, reply: Reply) -> None:
    """Keep the reply for another attempt; one with media or of many words is found anew.

    Raises LeaseLostError where another worker has the task, whose reply is the one that counts.
    """
    if task is None or reply.media:
        return
    with suppress(InvalidInputError, UnavailableError):
        task.keep({_NOTE: asdict(reply)})
