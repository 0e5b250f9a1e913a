"""Transcription by an endpoint that speaks OpenAI's protocol."""

import json
import math
import time
from collections.abc import Callable
from typing import Any

import openai

from nacre.adapters.openai.endpoint_client import endpoint_client
from nacre.adapters.openai.faults import whole_body
from nacre.core.errors import UnavailableError
from nacre.core.limits import (
    MAX_MODEL_ANSWER_BYTES,
    SOUND_TOKENS_A_SECOND,
    TRANSCRIPTION_SECONDS,
)
from nacre.http_client.outgoing import DIRECT, Outgoing
from nacre.ports.media.transcriber import Transcript

# Endpoints recognize the format by the extension. Opus comes in an Ogg file.
_EXTENSIONS = {
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/ogg": "ogg",
    "audio/opus": "ogg",
    "audio/mp4": "m4a",
    "audio/aac": "aac",
    "audio/flac": "flac",
}


class OpenAITranscriber:
    """A Transcriber over one endpoint; the first audio file reads the key.

    A file is sent once, with one timeout for everything, because a client is waiting. Errors never
    contain the key, the file's name or the endpoint's answer.
    """

    def __init__(
        self,
        model: str,
        *,
        key: Callable[[], str],
        base_url: str,
        outgoing: Outgoing = DIRECT,
        seconds: float = TRANSCRIPTION_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._key = key
        self._base_url = base_url
        self._outgoing = outgoing
        self._seconds = seconds
        self._monotonic = monotonic

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
        """Return the transcript; raises UnavailableError if there is none."""
        del name  # it may name the speaker; the endpoint only needs the format
        file = (f"sound.{_EXTENSIONS.get(mime_type, 'bin')}", audio, mime_type)
        try:
            answer = json.loads(self._answer(file))
            text = answer["text"]
        except UnavailableError:
            raise
        except openai.APIStatusError as error:
            raise UnavailableError(_refusal(error.status_code)) from None
        except (ValueError, RecursionError, LookupError, TypeError):
            raise UnavailableError(_UNCLEAR) from None
        except Exception as error:  # noqa: BLE001  errors of the SDK's HTTP library
            is_timeout = "Timeout" in type(error).__name__
            raise UnavailableError(_TIMEOUT if is_timeout else _UNREACHED) from None
        if not isinstance(text, str):
            raise UnavailableError(_UNCLEAR)
        return Transcript(text.strip(), _tokens(answer.get("usage")))

    def _answer(self, file: tuple[str, bytes, str]) -> bytes:
        end = self._monotonic() + self._seconds
        with (
            openai.OpenAI(
                api_key=self._key() or "none",
                base_url=self._base_url,
                timeout=self._seconds,
                max_retries=0,
                http_client=endpoint_client(self._outgoing, self._base_url),
            ) as client,
            client.audio.transcriptions.with_streaming_response.create(
                model=self._model, file=file, response_format="json"
            ) as response,
        ):
            return whole_body(
                response.iter_bytes(),
                most=MAX_MODEL_ANSWER_BYTES,
                too_long=UnavailableError(_UNCLEAR),
                end=end,
                too_late=UnavailableError(_TIMEOUT),
                monotonic=self._monotonic,
            )


def _tokens(usage: Any) -> int | None:
    """Return the tokens of a sound, as reported or by its length; None if neither is known."""
    match usage:
        case {"type": "duration", "seconds": int() | float() as seconds}:
            tokens = seconds * SOUND_TOKENS_A_SECOND
        case {"total_tokens": int() as tokens}:
            pass
        case _:
            return None
    return math.ceil(tokens) if 0 <= tokens <= _MAX_TOKENS else None


_MAX_TOKENS = 10_000_000  # eleven days of sound; a larger number must be an error
_UNCLEAR = "the transcriber's answer was not understood"
_TIMEOUT = "the transcriber did not answer in time"
_UNREACHED = "the transcriber cannot be reached; see NACRE_TRANSCRIBE_BASE_URL"


def _refusal(status: int) -> str:
    match status:
        case 401 | 403:
            return "the transcriber refused the key; set NACRE_TRANSCRIBE_API_KEY"
        case 404:
            return (
                "the transcriber does not know the model or the path (404);"
                " see NACRE_TRANSCRIBE_MODEL"
            )
        case 400 | 413 | 415 | 422:
            return f"the transcriber does not take this sound ({status})"
        case _:
            return f"the transcriber answered {status}"
