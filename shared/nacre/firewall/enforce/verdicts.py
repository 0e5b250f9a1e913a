"""The verdicts about one message: forward it, answer it, drop it or hold it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from nacre.core.lazy_dataclasses import dataclass


class Forward(NamedTuple):  # made for each message, in a fifth of the time
    """Forward the message, unchanged byte for byte or with changes.

    `answer` is also sent back to its sender. `headers` mirror the message over HTTP; the sender's
    own headers of these names are not forwarded.
    """

    raw: bytes
    answer: bytes | None = None
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Do not forward the message, and send this answer to its sender; `status` is for HTTP."""

    raw: bytes
    status: int = 200


@dataclass(frozen=True, slots=True)
class Drop:
    """The message is dropped without an answer."""

    reason: str


@dataclass(frozen=True, slots=True)
class Hold:
    """A person has to decide first; `ask`, if given, is sent to the client meanwhile.

    A later message of the client, or `poll`, releases the message.
    """

    ask: bytes | None = None


Verdict = Forward | Answer | Drop | Hold


@dataclass(frozen=True, slots=True)
class Release:
    """A message that was held, or the answer to its sender."""

    to: Literal["client", "server"]
    raw: bytes
