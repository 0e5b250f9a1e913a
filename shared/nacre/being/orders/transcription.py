"""Transcription within the daily budget of a Being."""

from contextlib import suppress

from nacre.being.language_model.daily_budget import Spending
from nacre.core.errors import UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import SOUND_TOKEN_BYTES
from nacre.ports.media.transcriber import Transcriber, Transcript

# How many times more bytes a second of sound takes in formats without lossy compression.
_BYTES_FACTOR = {"audio/wav": 4, "audio/flac": 2}


@dataclass(frozen=True, slots=True)
class BudgetedTranscriber:
    """A Transcriber of one Being's sounds; a failed transcription costs nothing."""

    transcriber: Transcriber
    spending: Spending
    being_id: str

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
        """Return the transcript; raises UnavailableError also if the day's budget is spent."""
        estimate = len(audio) // (SOUND_TOKEN_BYTES * _BYTES_FACTOR.get(mime_type, 1)) + 1
        reservation = self.spending.reserve(self.being_id, input_tokens=estimate, output_tokens=0)
        if isinstance(reservation, str):
            raise UnavailableError(reservation)
        tokens = 0
        try:
            transcript = self.transcriber.transcribe(audio, name=name, mime_type=mime_type)
            tokens = estimate if transcript.tokens is None else transcript.tokens
        finally:
            # If this fails, the reservation stays, and the transcript is still good.
            with suppress(UnavailableError):
                self.spending.settle(reservation, input_tokens=tokens, output_tokens=0)
        return transcript
