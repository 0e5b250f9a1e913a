"""The queue: work that waits, in order within its group."""

from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery of a message; `receipt` is valid for this delivery only."""

    id: str
    group: str
    body: str
    receives: int  # this delivery included
    receipt: str


@dataclass(frozen=True, slots=True)
class Depth:
    """The number of messages that wait, are being worked on, and have been given up."""

    waiting: int
    in_flight: int
    dead: int


class Queue(Protocol):
    """Messages of one group are delivered in order, one at a time; groups do not wait.

    A message that is neither done nor postponed in time is delivered again, so handlers
    get some messages twice. After three deliveries it is set aside as dead, and its group
    continues. A store that cannot answer raises UnavailableError; a body or a name that
    cannot be sent raises InvalidInputError.
    """

    def send(self, body: str, *, group: str, dedupe_key: str | None = None) -> str:
        """Add a message and return its id.

        Within five minutes a second message of the group with the same `dedupe_key` is
        accepted and dropped. `group` and `dedupe_key` are 1 to 128 letters, digits and
        punctuation marks of ASCII; a body is text of at most 64 kB.
        """
        ...

    def receive(self) -> Message | None:
        """Take the next message that may be worked on; return None if there is none now."""
        ...

    def done(self, message: Message) -> None:
        """Remove a message; nothing happens when its receipt is no longer valid."""
        ...

    def postpone(self, message: Message, seconds: float) -> None:
        """Deliver the message again after `seconds` from now; 0 is at once.

        A worker that needs more time postpones; nothing happens when the receipt is
        no longer valid. No pause is longer than the store's longest: on the laptop as long as a
        delivery lasts, on AWS twelve hours.
        """
        ...

    def give_back(self, message: Message, seconds: float) -> None:
        """Deliver the message again after a delay, because it was too early to handle it.

        As `postpone`, but the delivery does not count; on AWS SQS counts it all the same.
        """
        ...

    def depth(self) -> Depth:
        """Count the messages; on AWS the numbers are approximate."""
        ...

    def waiting(self) -> int:
        """Count the messages that wait to be taken; on AWS approximately."""
        ...
