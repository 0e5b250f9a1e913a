"""Speech as text."""

from typing import Protocol

from nacre.core.lazy_dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words in a recording; `tokens` is how many it counted as, None if that is unknown."""

    text: str = field(repr=False)
    tokens: int | None = None


class Transcriber(Protocol):
    """Turns a sound into the words that are spoken in it."""

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
        """Return the words; raise UnavailableError if they cannot be had now."""
        ...
