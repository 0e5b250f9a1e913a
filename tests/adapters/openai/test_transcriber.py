"""Speech as text by an endpoint on the loopback."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count

import pytest

from nacre.adapters.openai.transcriber import OpenAITranscriber
from nacre.core.errors import UnavailableError
from nacre.core.limits import MAX_MODEL_ANSWER_BYTES
from nacre.ports.media.transcriber import Transcript
from tests.scaffolding.server_threads import answering


@dataclass
class Endpoint:
    """The requests that came in, and the answer that goes out."""

    url: str = ""
    status: int = 200
    body: bytes = json.dumps({"text": " Buy pearls.\n"}).encode()
    path: str = ""
    key: str = ""
    parts: dict[str, Message] = field(default_factory=dict)
    asked: int = 0

    def content(self, name: str) -> bytes:
        payload = self.parts[name].get_payload(decode=True)
        assert isinstance(payload, bytes)
        return payload


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            kind = self.headers["content-type"].encode()
            message = message_from_bytes(b"Content-Type: " + kind + b"\r\n\r\n" + body)
            served.asked += 1
            served.path, served.key = self.path, self.headers["authorization"]
            for part in message.walk():
                name = part.get_param("name", header="content-disposition")
                if isinstance(name, str):
                    served.parts[name] = part
            self.send_response(served.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(served.body)))
            self.end_headers()
            self.wfile.write(served.body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    with answering(server):
        yield served


def transcriber(
    endpoint: Endpoint, *, key: str = "sk-secret", monotonic: Callable[[], float] = time.monotonic
) -> OpenAITranscriber:
    return OpenAITranscriber(
        "whisper-1", key=lambda: key, base_url=endpoint.url, monotonic=monotonic
    )


def hear(endpoint: Endpoint, mime_type: str = "audio/wav") -> str:
    return transcriber(endpoint).transcribe(b"RIFF", name="Ann's.wav", mime_type=mime_type).text


def test_a_sound_is_sent_and_its_words_come_back(endpoint: Endpoint) -> None:
    assert hear(endpoint) == "Buy pearls."
    assert (endpoint.path, endpoint.key) == ("/v1/audio/transcriptions", "Bearer sk-secret")
    assert endpoint.content("model") == b"whisper-1"
    assert endpoint.content("response_format") == b"json"
    assert endpoint.content("file") == b"RIFF"
    assert endpoint.parts["file"].get_filename() == "sound.wav"
    assert endpoint.parts["file"].get_content_type() == "audio/wav"


@pytest.mark.parametrize(
    ("mime_type", "name"),
    [
        ("audio/mpeg", "sound.mp3"),
        ("audio/mp4", "sound.m4a"),
        ("audio/opus", "sound.ogg"),
        ("audio/x-other", "sound.bin"),
    ],
)
def test_a_sound_has_a_name_that_says_its_format_alone(
    endpoint: Endpoint, mime_type: str, name: str
) -> None:
    hear(endpoint, mime_type)

    assert endpoint.parts["file"].get_filename() == name


def test_an_endpoint_without_a_key_is_asked_all_the_same(endpoint: Endpoint) -> None:
    transcriber(endpoint, key="").transcribe(b"x", name="a", mime_type="audio/wav")

    assert endpoint.key == "Bearer none"


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (401, b"wrong key sk-secret", "refused the key; set NACRE_TRANSCRIBE_API_KEY"),
        (403, b"", "refused the key"),
        (404, b"", "see NACRE_TRANSCRIBE_MODEL"),
        (400, b'{"error": {"message": "Ann\'s.wav sk-secret"}}', "does not take this sound (400)"),
        (413, b"", "does not take this sound (413)"),
        (429, b"", "answered 429"),
        (500, b"", "answered 500"),
        (200, b"", "was not understood"),
        (200, b"[]", "was not understood"),
        (200, b'{"text": null}', "was not understood"),
        (200, b'{"text": "\xff"}', "was not understood"),
        (200, b"[" * 100_000, "was not understood"),
        (200, b" " * (MAX_MODEL_ANSWER_BYTES + 1), "was not understood"),
    ],
)
def test_what_goes_wrong_is_said_without_secrets(
    endpoint: Endpoint, status: int, body: bytes, error: str
) -> None:
    endpoint.status, endpoint.body = status, body

    with pytest.raises(UnavailableError) as caught:
        hear(endpoint)

    assert error in str(caught.value)
    assert "sk-secret" not in str(caught.value)
    assert "Ann" not in str(caught.value)
    assert endpoint.asked == 1


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"type": "duration", "seconds": 6.01}, 61),
        ({"type": "duration", "seconds": 90}, 900),
        ({"type": "tokens", "input_tokens": 14, "output_tokens": 101, "total_tokens": 115}, 115),
        (None, None),
        ({"type": "duration", "seconds": -1}, None),
        ({"type": "duration", "seconds": "6"}, None),
        ({"total_tokens": 10**30}, None),
        ("much", None),
    ],
)
def test_what_a_sound_was_counted_as_is_told(
    endpoint: Endpoint, usage: object, tokens: int | None
) -> None:
    endpoint.body = json.dumps({"text": "Hi.", "usage": usage}).encode()
    heard = transcriber(endpoint).transcribe(b"x", name="a", mime_type="audio/wav")

    assert heard == Transcript("Hi.", tokens)


def test_an_endpoint_that_is_not_there_is_named() -> None:
    with pytest.raises(UnavailableError, match="see NACRE_TRANSCRIBE_BASE_URL"):
        hear(Endpoint(url="http://127.0.0.1:9/v1"))


def test_an_answer_that_trickles_is_given_up(endpoint: Endpoint) -> None:
    clock = count(step=100)
    slow = transcriber(endpoint, monotonic=lambda: float(next(clock)))

    with pytest.raises(UnavailableError, match="did not answer in time"):
        slow.transcribe(b"x", name="a", mime_type="audio/wav")
