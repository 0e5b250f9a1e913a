"""Readers that turn the media of orders into text: PDFs, and audio if the settings name a model.

The first audio file loads openai, and the first document starts a process.
"""

import os
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

from nacre.being.orders.media.chat_parts import MediaAbilities
from nacre.core.errors import UnavailableError
from nacre.core.limits import TRANSCRIPTION_SECONDS
from nacre.ports.media.documents import DocumentReader, DocumentText
from nacre.ports.media.transcriber import Transcriber, Transcript
from nacre.wiring.features.models import MISSING_OPENAI, OPENAI_URL
from nacre.wiring.settings import Settings

# The variables that an interpreter needs to start, on Lambda and on Windows.
_NEEDED = ("LD_LIBRARY_PATH", "SYSTEMROOT")


def media_abilities(
    settings: Settings,
    *,
    images: bool = True,
    files: bool = False,
    key: Callable[[], str] = str,
) -> MediaAbilities:
    """Return the media that an order may contain, for a model that accepts images or files.

    If no setting holds the transcriber's key, `key` returns it when the first audio file arrives.
    """
    return MediaAbilities(
        images=images,
        files=files,
        documents=_Documents(),
        transcriber=_Transcriber(settings, key) if settings.transcribe_model else None,
    )


class _Documents:
    """A DocumentReader that is loaded when the first document arrives."""

    def read(self, document: bytes) -> DocumentText:
        return _reader().read(document)


@cache
def _reader() -> DocumentReader:
    from nacre.adapters.pdf.reader import PypdfReader

    return PypdfReader({name: os.environ[name] for name in _NEEDED if name in os.environ})


class _Transcriber:
    """A Transcriber that is loaded when the first audio file arrives."""

    def __init__(self, settings: Settings, key: Callable[[], str]) -> None:
        self._settings = settings
        self._key = key
        self._loaded: Transcriber | None = None

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
        return self._transcriber().transcribe(audio, name=name, mime_type=mime_type)

    def _transcriber(self) -> Transcriber:
        if self._loaded is None:
            if find_spec("openai") is None:
                raise UnavailableError(MISSING_OPENAI)
            from nacre.adapters.openai.transcriber import OpenAITranscriber
            from nacre.wiring.outgoing import outgoing_of

            self._loaded = OpenAITranscriber(
                self._settings.transcribe_model,
                key=lambda: self._settings.transcribe_api_key.reveal() or self._key(),
                base_url=self._settings.transcribe_base_url or OPENAI_URL,
                outgoing=outgoing_of(self._settings),
                seconds=TRANSCRIPTION_SECONDS,
            )
        return self._loaded
