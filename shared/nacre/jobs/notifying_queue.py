"""A queue that signals each sent message, so that a worker in the same process does not poll."""

from collections.abc import Callable

from nacre.core.lazy_dataclasses import dataclass
from nacre.ports.queue import Depth, Message, Queue


def _do_nothing() -> None:
    return


@dataclass(slots=True)
class JobSignal:
    """Calls `on_job` when this process has sent a job."""

    on_job: Callable[[], None] = _do_nothing


@dataclass(frozen=True, slots=True)
class AnnouncingQueue:
    """A Queue that calls `signal.on_job` when a message is sent."""

    queue: Queue
    signal: JobSignal

    def send(self, body: str, *, group: str, dedupe_key: str | None = None) -> str:
        """Add a message and return its id."""
        message_id = self.queue.send(body, group=group, dedupe_key=dedupe_key)
        self.signal.on_job()
        return message_id

    def receive(self) -> Message | None:
        """Take the next message that may be worked on; return None if there is none now."""
        return self.queue.receive()

    def done(self, message: Message) -> None:
        """Remove a message; nothing happens when its receipt is no longer valid."""
        self.queue.done(message)

    def postpone(self, message: Message, seconds: float) -> None:
        """Deliver the message again after `seconds` from now; 0 is at once."""
        self.queue.postpone(message, seconds)

    def give_back(self, message: Message, seconds: float) -> None:
        """Deliver the message again after `seconds`; this delivery does not count."""
        self.queue.give_back(message, seconds)

    def depth(self) -> Depth:
        """Count the messages."""
        return self.queue.depth()

    def waiting(self) -> int:
        """Count the messages that wait to be taken."""
        return self.queue.waiting()
