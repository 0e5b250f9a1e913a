"""An order as parts of a chat message: its text first, then its attachments."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from nacre.being.orders.daemon_thread import in_daemon_thread
from nacre.being.orders.media.decoded_content import text_decoder
from nacre.being.orders.media.incoming import Attachment
from nacre.being.orders.media.media_limits import readable
from nacre.being.orders.media.media_types import ALL
from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import ATTACHED_TEXT_BYTES
from nacre.ports.media.documents import DocumentReader, DocumentText
from nacre.ports.media.transcriber import Transcriber

_TICKS = re.compile("`{3,}")
_LANGUAGES = {
    "text/markdown": "markdown",
    "text/html": "html",
    "text/csv": "csv",
    "application/json": "json",
}

_SLOW = ("document", "audio")

Part = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaAbilities:
    """The media that the model takes, and the ports that turn others into text."""

    images: bool = True
    files: bool = False  # whether it takes a PDF as it is
    documents: DocumentReader | None = None
    transcriber: Transcriber | None = None


async def parts_for(
    message: str, attachments: Sequence[Attachment], abilities: MediaAbilities
) -> list[Part]:
    """Return the parts of a user's message: the unchanged message, then each attachment.

    A line names each attachment, and says why if the model cannot be given its content. Documents
    and sounds are read in threads, for as long as their ports allow.
    """
    parts = [_text(message)]
    for number, attachment in enumerate(attachments, 1):
        if ALL[attachment.mime_type].group in _SLOW:
            reading = in_daemon_thread(partial(_parts, number, attachment, abilities))
            new_parts = await asyncio.wrap_future(reading)
            parts.extend(new_parts)
        else:
            parts.extend(_parts(number, attachment, abilities))
    return parts


def _parts(number: int, attachment: Attachment, abilities: MediaAbilities) -> list[Part]:
    match ALL[attachment.mime_type].group:
        case "image":
            return _image(number, attachment, abilities)
        case "text":
            head = attachment.head(ATTACHED_TEXT_BYTES)
            text = text_decoder(head).decode(head)
            note = "" if len(head) == attachment.size else f"cut after {readable(len(head))}"
            return [_fenced(number, attachment, text, note)]
        case "document":
            return _document(number, attachment, abilities)
        case "audio":
            return [_sound(number, attachment, abilities)]
        case "video" | "archive":
            return [_text(_line(number, attachment, f"not opened, SHA-256 {attachment.sha256}"))]


def _image(number: int, attachment: Attachment, abilities: MediaAbilities) -> list[Part]:
    if not abilities.images:
        return [_text(_line(number, attachment, "not shown: the model takes no images"))]
    picture = {"type": "image_url", "image_url": {"url": _data_uri(attachment)}}
    return [_text(_line(number, attachment)), picture]


def _document(number: int, attachment: Attachment, abilities: MediaAbilities) -> list[Part]:
    document = _read(attachment, abilities.documents)
    if isinstance(document, DocumentText):
        pages = f"{document.read} of {document.pages} pages"
        text, note = _bounded(document.text)
        return [_fenced(number, attachment, text, pages + (f"; {note}" if note else ""))]
    if abilities.files:
        file = {"filename": attachment.name, "file_data": _data_uri(attachment)}
        return [_text(_line(number, attachment)), {"type": "file", "file": file}]
    return [_text(_line(number, attachment, f"not read: {document}"))]


def _read(attachment: Attachment, reader: DocumentReader | None) -> DocumentText | str:
    """Return the text of a document, or the reason why there is none."""
    if reader is None:
        return "no reader for PDFs is installed"
    try:
        document = reader.read(attachment.data)
    except (InvalidInputError, UnavailableError) as error:
        return str(error)
    return document if document.text.strip() else "it holds no text"


def _sound(number: int, attachment: Attachment, abilities: MediaAbilities) -> Part:
    if abilities.transcriber is None:
        reason = "not transcribed: no transcriber is configured"
        return _text(_line(number, attachment, reason))
    try:
        transcript = abilities.transcriber.transcribe(
            attachment.data, name=attachment.name, mime_type=attachment.mime_type
        )
    except UnavailableError as error:
        return _text(_line(number, attachment, f"not transcribed: {error}"))
    text, note = _bounded(transcript.text)
    return _fenced(number, attachment, text, "transcript" + (f"; {note}" if note else ""))


def _bounded(text: str) -> tuple[str, str]:
    # PDFs can contain lone surrogates, which cannot be encoded.
    raw = text.encode("utf-8", "replace")
    head = raw[:ATTACHED_TEXT_BYTES].decode("utf-8", "ignore")
    return head, f"cut after {readable(ATTACHED_TEXT_BYTES)}" if len(head) < len(text) else ""


def _line(number: int, attachment: Attachment, note: str = "") -> str:
    facts = [attachment.mime_type, readable(attachment.size), *([note] if note else [])]
    return f"[attachment {number}: {attachment.name}, {', '.join(facts)}]"


def _fenced(number: int, attachment: Attachment, text: str, note: str) -> Part:
    longest = max(map(len, _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    language = _LANGUAGES.get(attachment.mime_type, "")
    end = "" if text.endswith("\n") else "\n"
    return _text(f"{_line(number, attachment, note)}\n{fence}{language}\n{text}{end}{fence}")


def _data_uri(attachment: Attachment) -> str:
    return f"data:{attachment.mime_type};base64,{attachment.base64}"


def _text(text: str) -> Part:
    return {"type": "text", "text": text}
