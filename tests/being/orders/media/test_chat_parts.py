"""An order as parts of a chat message."""

import asyncio
import base64
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.being.orders.media.chat_parts import MediaAbilities, parts_for
from nacre.being.orders.media.incoming import read_attachments
from nacre.being.orders.media.media_limits import MediaLimits
from nacre.being.orders.media.media_types import ALL
from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.core.limits import ATTACHED_TEXT_BYTES
from nacre.ports.media.documents import DocumentText
from nacre.ports.media.transcriber import Transcript
from tests.being.orders.documents import SAMPLES, pdf, png, sent


class Reader:
    """A DocumentReader that has one answer."""

    def __init__(self, answer: DocumentText | Exception) -> None:
        self._answer = answer
        self.documents: list[bytes] = []

    def read(self, document: bytes) -> DocumentText:
        self.documents.append(document)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


class Listener:
    """A Transcriber that has one answer."""

    def __init__(self, answer: str | Exception) -> None:
        self._answer = answer
        self.heard: list[tuple[bytes, str, str]] = []

    def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
        self.heard.append((audio, name, mime_type))
        if isinstance(self._answer, Exception):
            raise self._answer
        return Transcript(self._answer)


def parts(
    *files: dict[str, str],
    pictures: Sequence[dict[str, str]] = (),
    message: str = "Hello",
    **abilities: Any,
) -> list[dict[str, Any]]:
    attachments = read_attachments(pictures, files, MediaLimits.laptop())
    return asyncio.run(parts_for(message, attachments, MediaAbilities(**abilities)))


def texts(*files: dict[str, str], **more: Any) -> list[str]:
    return [part["text"] for part in parts(*files, **more)[1:] if part["type"] == "text"]


@settings(max_examples=30)
@given(st.text())
def test_the_message_comes_first_and_unmodified(message: str) -> None:
    assert parts(message=message) == [{"type": "text", "text": message}]


def test_an_image_is_named_and_shown() -> None:
    data = png()
    url = "data:image/png;base64," + base64.b64encode(data).decode()

    assert parts(pictures=[sent(data, "image/png", "shell.png")]) == [
        {"type": "text", "text": "Hello"},
        {"type": "text", "text": f"[attachment 1: shell.png, image/png, {len(data)} bytes]"},
        {"type": "image_url", "image_url": {"url": url}},
    ]


def test_an_image_is_named_where_the_model_takes_none() -> None:
    content = parts(pictures=[sent(SAMPLES["image/gif"], "image/gif")], images=False)

    assert content[1:] == [
        {
            "type": "text",
            "text": "[attachment 1: image-1.gif, image/gif, 14 bytes, not shown: the model takes no"
            " images]",
        }
    ]


@pytest.mark.parametrize(
    ("mime_type", "data", "text"),
    [
        ("text/plain", "Grüße, 世界 🐚\n".encode(), "```\nGrüße, 世界 🐚\n```"),
        ("text/markdown", b"# A\n```\nb\n```", "````markdown\n# A\n```\nb\n```\n````"),
        ("text/html", b"<p>`````</p>", "``````html\n<p>`````</p>\n``````"),
        ("text/csv", b"\xef\xbb\xbfa,b\r\n", "```csv\na,b\r\n```"),
        ("application/json", b'{"a": ', '```json\n{"a": \n```'),
        ("text/plain", "wide".encode("utf-16"), "```\nwide\n```"),
    ],
)
def test_text_is_fenced(mime_type: str, data: bytes, text: str) -> None:
    (part,) = texts(sent(data, mime_type, "f"))

    assert part == f"[attachment 1: f, {mime_type}, {len(data)} bytes]\n{text}"


@settings(max_examples=50)
@given(st.text(st.sampled_from("`a\n"), min_size=1, max_size=30))
def test_no_text_ends_its_fence(text: str) -> None:
    (part,) = texts(sent(text.encode(), "text/plain"))
    _, fence, *lines = part.split("\n")

    assert lines[-1] == fence
    assert not any(line.strip() == fence for line in lines[:-1])


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_100_kb_of_a_text_are_given(extra: int) -> None:
    data = b"a" * (ATTACHED_TEXT_BYTES + extra)

    (part,) = texts(sent(data, "text/plain", "f"))

    assert part.count("a" * 1000) == ATTACHED_TEXT_BYTES // 1000
    assert ("cut after 102 kB]" in part) == (extra > 0)
    assert part.endswith("a\n```")


def test_a_text_is_cut_between_characters() -> None:
    (even,) = texts(sent("é".encode() * ATTACHED_TEXT_BYTES, "text/plain"))
    (odd,) = texts(sent(b"a" + "é".encode() * ATTACHED_TEXT_BYTES, "text/plain"))

    assert even.count("é") == ATTACHED_TEXT_BYTES // 2
    assert odd.count("é") == ATTACHED_TEXT_BYTES // 2 - 1


def test_a_document_is_given_as_its_text() -> None:
    reader = Reader(DocumentText("one\n\ntwo ```", pages=3, read=2))

    (part,) = texts(sent(pdf("x"), "application/pdf", "a.pdf"), documents=reader, files=True)

    assert reader.documents == [pdf("x")]
    size = len(pdf("x"))
    assert part == (
        f"[attachment 1: a.pdf, application/pdf, {size} bytes, 2 of 3 pages]\n"
        "````\none\n\ntwo ```\n````"
    )


def test_a_long_document_is_cut() -> None:
    reader = Reader(DocumentText("é" * ATTACHED_TEXT_BYTES, pages=1, read=1))

    (part,) = texts(sent(pdf("x"), "application/pdf"), documents=reader)

    assert "1 of 1 pages; cut after 102 kB]" in part
    assert part.count("é") == ATTACHED_TEXT_BYTES // 2


UNREADABLE = [
    (None, "no reader for PDFs is installed"),
    (Reader(InvalidInputError("it is damaged")), "it is damaged"),
    (Reader(UnavailableError("no process")), "no process"),
    (Reader(DocumentText(" \n", pages=1, read=1)), "it holds no text"),
]


@pytest.mark.parametrize(("reader", "reason"), UNREADABLE)
def test_a_document_without_text_is_named(reader: Reader | None, reason: str) -> None:
    (line,) = texts(sent(pdf("x"), "application/pdf", "a.pdf"), documents=reader)

    assert line.endswith(f"bytes, not read: {reason}]")


@pytest.mark.parametrize(("reader", "reason"), UNREADABLE)
def test_a_document_without_text_goes_as_it_is_where_the_model_takes_it(
    reader: Reader | None, reason: str
) -> None:
    _, named, file = parts(sent(pdf("x"), "application/pdf", "a.pdf"), documents=reader, files=True)

    assert reason not in named["text"]
    data = "data:application/pdf;base64," + base64.b64encode(pdf("x")).decode()
    assert file == {"type": "file", "file": {"filename": "a.pdf", "file_data": data}}


@pytest.mark.requirement("001.media.audio")
def test_a_sound_is_named_where_nobody_transcribes() -> None:
    (line,) = texts(sent(SAMPLES["audio/flac"], "audio/flac", "memo.flac"))

    assert line == (
        "[attachment 1: memo.flac, audio/flac, 42 bytes, not transcribed: no transcriber is"
        " configured]"
    )


@pytest.mark.requirement("001.media.audio")
def test_a_sound_is_given_as_its_words() -> None:
    listener = Listener("Buy pearls.")
    audio = SAMPLES["audio/wav"]

    (line,) = texts(sent(audio, "audio/wav", "memo.wav"), transcriber=listener)

    assert listener.heard == [(audio, "memo.wav", "audio/wav")]
    assert line == (
        f"[attachment 1: memo.wav, audio/wav, {len(audio)} bytes, transcript]\n"
        "```\nBuy pearls.\n```"
    )


def test_a_sound_that_cannot_be_transcribed_is_named() -> None:
    listener = Listener(UnavailableError("the transcriber answered 500"))

    (line,) = texts(sent(SAMPLES["audio/wav"], "audio/wav"), transcriber=listener)

    assert line.endswith("not transcribed: the transcriber answered 500]")


def test_nobody_waits_for_a_sound_once_the_order_is_given_up() -> None:
    begun, ended = threading.Event(), threading.Event()

    class Slow(Listener):
        def transcribe(self, audio: bytes, *, name: str, mime_type: str) -> Transcript:
            begun.set()
            ended.wait(60)
            return Transcript("late")

    files = [sent(SAMPLES["audio/wav"], "audio/wav")]
    sounds = read_attachments(None, files, MediaLimits.aws())

    async def given_up() -> None:
        reading = asyncio.ensure_future(
            parts_for("Hello", sounds, MediaAbilities(transcriber=Slow("late")))
        )
        while not begun.is_set():
            await asyncio.sleep(0.001)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    asyncio.run(given_up())  # which ends the loop, and does not wait for its threads

    assert not ended.is_set()
    assert [thread.name for thread in threading.enumerate()].count("order") == 1
    ended.set()


@pytest.mark.requirement("001.media.archives")
@pytest.mark.parametrize(
    "mime_type",
    [name for name, kind in ALL.items() if kind.group in ("video", "archive")],
)
def test_films_and_archives_are_named_and_not_opened(mime_type: str) -> None:
    data = SAMPLES[mime_type]
    (attachment,) = read_attachments(None, [sent(data, mime_type, "f")], MediaLimits.aws())

    (line,) = texts(sent(data, mime_type, "f"))

    size = f"{len(data)} bytes" if len(data) < 1000 else f"{len(data) / 1000:.0f} kB"
    assert line == (
        f"[attachment 1: f, {mime_type}, {size}, not opened, SHA-256 {attachment.sha256}]"
    )


def test_attachments_are_numbered_images_first() -> None:
    lines = texts(
        sent(b"a", "text/plain"),
        sent(SAMPLES["application/zip"], "application/zip"),
        pictures=[sent(png(), "image/png")] * 2,
    )

    assert [line.split(",")[0] for line in lines] == [
        "[attachment 1: image-1.png",
        "[attachment 2: image-2.png",
        "[attachment 3: file-1.txt",
        "[attachment 4: file-2.zip",
    ]
