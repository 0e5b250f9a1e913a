"""The dead letters: messages of the queue that were given up."""

from collections.abc import Generator
from datetime import datetime
from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that was given up; `receipt` is valid for the look that found it."""

    id: str
    group: str
    body: str
    receives: int  # deliveries before it was given up
    died_at: datetime
    receipt: str


class DeadLetters(Protocol):
    """The messages that a queue has given up, stored for two weeks.

    A store that cannot answer raises UnavailableError.
    """

    def look(self) -> Generator[DeadLetter]:
        """Yield the dead letters, those of one group in the order in which they were given up.

        On AWS a letter is hidden from others until the look is closed or a minute is over, and
        of a group only the first ten are seen until some of them are sent back.
        """
        ...

    def send_back(self, letter: DeadLetter) -> bool:
        """Move a letter to the end of its group; return False if it is no longer there.

        It is delivered as often as a new message. An interruption loses nothing: on AWS the letter
        may then exist as well as the message. Sending it back again within five minutes adds no
        second message.
        """
        ...

    def count(self) -> int:
        """Count the dead letters; on AWS the number is approximate."""
        ...
