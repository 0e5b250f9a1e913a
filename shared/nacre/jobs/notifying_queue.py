"""A queue that says in its own process that a message was sent, so that nobody waits for it."""

from collections.abc import Callable
from dataclasses import dataclass

from nacre.ports.queue import Depth, Message, Queue


def _unheard() -> None:
    return


@dataclass(slots=True)
class Bell:
    """Rings when there is work; nobody has to listen."""

    heard: Callable[[], None] = _unheard

    def ring(self) -> None:
        """Tell who listens."""
        self.heard()


@dataclass(frozen=True, slots=True)
class AnnouncingQueue:
    """A Queue that rings when a message is sent."""

    queue: Queue
    bell: Bell

    def send(self, body: str, *, group: str, repeat: str | None = None) -> str:
        """Add a message and return its id."""
        message_id = self.queue.send(body, group=group, repeat=repeat)
        self.bell.ring()
        return message_id

    def receive(self) -> Message | None:
        """Take the next message that may be worked on; None when there is none now."""
        return self.queue.receive()

    def done(self, message: Message) -> None:
        """Remove a message; nothing happens when its receipt is no longer good."""
        self.queue.done(message)

    def postpone(self, message: Message, seconds: float) -> None:
        """Deliver the message again after so long, counted from now; 0 is at once."""
        self.queue.postpone(message, seconds)

    def give_back(self, message: Message, seconds: float) -> None:
        """Deliver the message again after so long; this delivery does not count."""
        self.queue.give_back(message, seconds)

    def depth(self) -> Depth:
        """Count the messages."""
        return self.queue.depth()
