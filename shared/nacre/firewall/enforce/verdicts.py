"""What becomes of one message at a guard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple


class Forward(NamedTuple):  # made for each message, in a fifth of the time
    """The message goes on: as it came, byte for byte, or as it was changed.

    `answer` goes back to its sender besides. `headers` are those that mirror the message
    over HTTP; others of their names are not to be sent on.
    """

    raw: bytes
    answer: bytes | None = None
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The message does not go on, and its sender gets this; `status` is HTTP's."""

    raw: bytes
    status: int = 200


@dataclass(frozen=True, slots=True)
class Drop:
    """The message ends here, and nobody is told."""

    reason: str


@dataclass(frozen=True, slots=True)
class Hold:
    """Somebody has to decide first; `ask`, when there, goes to the client meanwhile.

    What becomes of the message comes out of a later message of the client's, or of `poll`.
    """

    ask: bytes | None = None


Verdict = Forward | Answer | Drop | Hold


@dataclass(frozen=True, slots=True)
class Release:
    """A message that was held, or what its sender gets instead."""

    to: Literal["client", "server"]
    raw: bytes
