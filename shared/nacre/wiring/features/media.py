"""What turns the media of an order into text: PDFs always, sounds where the settings say how.

Building loads nothing of openai and starts nothing; both come with the first sound or document.
"""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from nacre.being.orders.media.chat_parts import MediaAbilities
from nacre.core.errors import UnavailableError
from nacre.core.limits import TRANSCRIPTION_SECONDS
from nacre.ports.documents import DocumentReader, DocumentText
from nacre.ports.transcriber import Transcriber, Transcript
from nacre.wiring.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"
# What an interpreter needs to start: its library on Lambda, its system on Windows.
_NEEDED = ("LD_LIBRARY_PATH", "SYSTEMROOT")


def media_abilities(
    settings: Settings,
    *,
    images: bool = True,
    files: bool = False,
    key: Callable[[], str] = str,
) -> MediaAbilities:
    """Return what is at hand beside a model that takes images, or files, or neither.

    `key` gives the transcriber's key where no setting does, and is asked with the first sound.
    """
    return MediaAbilities(
        images=images,
        files=files,
        documents=_Documents(),
        transcriber=_Transcriber(settings, key) if settings.transcribe_model else None,
    )


class _Documents:
    """A DocumentReader that is made with its first document."""

    def read(self, document: bytes) -> DocumentText:
        return _reader().read(document)


@cache
def _reader() -> DocumentReader:
    from nacre.adapters.pdf.reader import PypdfReader

    return PypdfReader({name: os.environ[name] for name in _NEEDED if name in os.environ})


class _Transcriber:
    """A Transcriber that is made with its first sound."""

    def __init__(self, settings: Settings, key: Callable[[], str]) -> None:
        self._settings = settings
        self._key = key
        self._made: Transcriber | None = None

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
        return self._transcriber().transcribe(audio, name=name, mime_type=mime_type)

    def _transcriber(self) -> Transcriber:
        if self._made is None:
            if find_spec("openai") is None:
                missing = (
                    "the openai package is not installed; "
                    "in the clone: make setup, or pip install '.[openai]'"
                )
                raise UnavailableError(missing)
            from nacre.adapters.openai.transcriber import OpenAITranscriber

            self._made = OpenAITranscriber(
                self._settings.transcribe_model,
                key=lambda: self._settings.transcribe_api_key.reveal() or self._key(),
                base_url=self._settings.transcribe_base_url or OPENAI_URL,
                seconds=TRANSCRIPTION_SECONDS,
            )
        return self._made
