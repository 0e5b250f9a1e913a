"""Sounds written down within what their Being may spend in a day."""

from contextlib import suppress
from dataclasses import dataclass

from nacre.being.language_model.spending import Spending
from nacre.core.errors import UnavailableError
from nacre.core.limits import SOUND_TOKEN_BYTES
from nacre.ports.transcriber import Transcriber, Transcript

# How much longer a sound is for its content: one that is not compressed takes 8 kB a second at
# least, where a compressed one takes 2 kB.
_PLAINER = {"audio/wav": 4, "audio/flac": 2}


@dataclass(frozen=True, slots=True)
class PaidTranscriber:
    """A Transcriber of one Being's sounds; one that could not be heard costs nothing."""

    transcriber: Transcriber
    spending: Spending
    being_id: str

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
        """Return the words; raise UnavailableError also where the day's budget is spent."""
        supposed = len(audio) // (SOUND_TOKEN_BYTES * _PLAINER.get(mime_type, 1)) + 1
        held = self.spending.reserve(self.being_id, input_tokens=supposed, output_tokens=0)
        if isinstance(held, str):
            raise UnavailableError(held)
        tokens = 0
        try:
            heard = self.transcriber.transcribe(audio, name=name, mime_type=mime_type)
            tokens = supposed if heard.tokens is None else heard.tokens
        finally:
            # What cannot be settled stays set aside, and what was said counts all the same.
            with suppress(UnavailableError):
                self.spending.settle(held, input_tokens=tokens, output_tokens=0)
        return heard
