"""Speech as text."""

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Transcript:
    """What is said in a sound; `tokens` is what it was counted as, None where nobody told."""

    text: str = field(repr=False)
    tokens: int | None = None


class Transcriber(Protocol):
    """Turns a sound into the words that are spoken in it."""

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
        """Return the words; raise UnavailableError when there are none to be had."""
        ...
