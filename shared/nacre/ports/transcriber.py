"""Speech as text."""

from typing import Protocol


class Transcriber(Protocol):
    """Turns a sound into the words that are spoken in it."""

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> str:
        """Return the words; raise UnavailableError when there are none to be had."""
        ...
