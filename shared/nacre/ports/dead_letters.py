"""The dead letters: messages of the queue that were given up."""

from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was given up; `receipt` is good for the look that found it."""

    id: str
    group: str
    body: str
    receives: int  # deliveries before it was given up
    died_at: datetime
    receipt: str


class DeadLetters(Protocol):
    """What a queue has given up, kept for two weeks.

    A store that cannot answer raises UnavailableError.
    """

    def look(self) -> Generator[DeadLetter]:
        """Yield what lies there, within a group in the order in which it was given up.

        On AWS a letter is hidden from others until the look is closed or a minute is over, and
        of a group only the first ten are seen until some of them are sent back.
        """
        ...

    def send_back(self, letter: DeadLetter) -> bool:
        """Put a letter behind what waits in its group; False when it does not lie there any more.

        It is delivered as often as a new message. Who is interrupted loses nothing: on AWS the
        letter may stay beside the message, and for five minutes sending it back again adds none.
        """
        ...

    def count(self) -> int:
        """Count what lies there; on AWS the number is approximate."""
        ...
