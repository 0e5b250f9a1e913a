"""Conversations of Gemini: chats of Gemini CLI (0.4 to 0.61), and Google Takeout's My Activity.

A chat of the command line is one JSON object, or JSON lines since 0.39: messages that later lines
repeat in full, `$set` for changed facts, and `$rewindTo` for messages that the user withdrew, which
are still imported.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from typing import Any

from nacre.being.memory.conversations.captured_message import CapturedMessage
from nacre.being.memory.transfer.transcripts.parts import (
    NO_CONVERSATION,
    NOT_A_RECORD,
    ROLES,
    Hints,
    LeftOut,
    joined,
    mapping,
    numbered,
    sequence,
    text_or_none,
    without_injected,
)
from nacre.being.memory.transfer.transcripts.times import first_time
from nacre.core.lazy_dataclasses import dataclass, field

CLIENT = "gemini"
_COMMAND_LINE = "gemini-cli"  # as its hooks name it

_OTHER_TYPES = ("info", "error", "warning")
_VERB = re.compile(
    r"(?:Prompted(?: with)?|Asked(?: Gemini)?|Said|Branched|Answered|Eingegebener Prompt)\b:?\s*"
)
_NO_QUESTION = re.compile(r"(?:Created|Added|Used|Gave|Selected|Viewed|Visited)\b")
_CONVERSATION = re.compile(r"https://gemini\.google\.com/(?:u/\d+/)?app/([0-9a-f]{8,64})")
_PROGRAM = ("<session_context>", "This is the Gemini CLI. We are setting up the context")


def recognizes(record: dict[str, object]) -> bool:
    """Return whether a record is of one of these formats."""
    return ("sessionId" in record and "projectHash" in record) or _is_activity(record)


def read(values: Iterable[object], hints: Hints) -> Iterator[CapturedMessage | LeftOut]:
    """Yield the messages of a chat, or of the activity of an account."""
    chat = _Chat(hints.session, hints.project)
    for number, record in numbered(values):
        if record is None:
            yield LeftOut(number, NOT_A_RECORD)
        elif _is_activity(record):
            yield from _activity(record, hints)
        elif not chat.take(record):
            yield LeftOut(number, NO_CONVERSATION)
    if chat.kind != "subagent":
        yield from chat.messages(hints)


@dataclass(slots=True)
class _Chat:
    """A chat, as far as its file has been read."""

    session_id: str
    project: str | None
    kind: str | None = None
    start: object = None
    records: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, record: dict[str, Any]) -> bool:
        """Take a line or a whole file; return whether it was understood."""
        if "$rewindTo" in record:
            return True
        if "$set" in record:
            record = mapping(record["$set"])
        elif isinstance(record.get("id"), str):
            self.records[record["id"]] = record
            return True
        elif "sessionId" not in record:
            return False
        self.session_id = text_or_none(record.get("sessionId")) or self.session_id
        self.kind = text_or_none(record.get("kind")) or self.kind
        self.start = record.get("startTime") or self.start
        folders = sequence(record.get("directories"))
        self.project = text_or_none(folders[0] if folders else None) or self.project
        for message in map(mapping, sequence(record.get("messages"))):
            if isinstance(message.get("id"), str):
                self.records[message["id"]] = message
        return True

    def messages(self, hints: Hints) -> Iterator[CapturedMessage]:
        """Yield the messages in the order in which they appeared first."""
        for message_id, record in self.records.items():
            role = ROLES.get(str(record.get("type")))
            text = without_injected(joined(record.get("content"), ("text",)))
            if role is None or not text or text.startswith(_PROGRAM):
                continue
            yield CapturedMessage(
                client=_COMMAND_LINE,
                session=self.session_id,
                message_id=message_id,
                role=role,
                text=text,
                at=first_time(record.get("timestamp"), self.start) or hints.changed,
                project=self.project,
            )


def _is_activity(record: dict[str, Any]) -> bool:
    names = (record.get("header"), *sequence(record.get("products")))
    return "title" in record and any("Gemini" in str(name) or name == "Bard" for name in names)


def _activity(record: dict[str, Any], hints: Hints) -> Iterator[CapturedMessage]:
    """Yield a question and its answers; an activity without an answer may be something else."""
    title = str(record.get("title", ""))
    answers = [mapping(item).get("html") for item in sequence(record.get("safeHtmlItem"))]
    verb = _VERB.match(title)
    if verb is None and (not answers or _NO_QUESTION.match(title)):
        return
    question = unescape(title[verb.end() :] if verb else title).strip()
    at = first_time(record.get("time")) or hints.changed
    identity = sha256(f"{record.get('time')}\n{title}".encode(errors="replace")).hexdigest()[:32]
    links = [
        record.get("titleUrl"),
        *(mapping(detail).get("url") for detail in sequence(record.get("details"))),
    ]
    link = next((match[1] for text in links if (match := _CONVERSATION.match(str(text)))), None)
    texts = [("user", question)]
    texts += [("assistant", _plain(html)) for html in answers if isinstance(html, str)]
    for place, (role, text) in enumerate(texts):
        if text:
            yield CapturedMessage(
                client=CLIENT,
                session=link or identity,
                message_id=f"{identity}-{place}",
                role=role,
                text=text,
                at=at + timedelta(milliseconds=place),  # an answer comes after its question
            )


class _PlainText(HTMLParser):
    """Collects the text of HTML, with a line for each block."""

    _BLOCKS = frozenset(
        ("p", "div", "br", "li", "tr", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol")
    )

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in self._BLOCKS:
            self.parts.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def _plain(html: str) -> str:
    reader = _PlainText()
    reader.feed(html)
    reader.close()
    lines = (line.strip() for line in "".join(reader.parts).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
