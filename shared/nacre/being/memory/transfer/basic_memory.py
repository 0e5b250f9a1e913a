"""Notes of basic-memory: Markdown files with front matter, observations and relations.

An observation is a list item `- [category] text #tag (context)`, a relation is one of the form
`- relates_to [[Other note]] (context)`. The whole note becomes knowledge under its title.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from nacre.being.memory.transfer.foreign_records import (
    ParsedPart,
    SkippedPart,
    day_of,
    knowledge_records,
    one_tag,
    records_or_reason,
    scene_records,
)
from nacre.core.lazy_dataclasses import dataclass, field

_PROGRAM = "basic-memory"
_ITEM = re.compile(r"^\s*[-*+]\s+(?P<item>\S.*)$")
_FENCE = re.compile(r"^\s*(?P<ticks>```+|~~~+)")
_OBSERVATION = re.compile(r"\[(?P<category>[^\[\]()]+)\]\s+(?P<content>.+)")
_RELATION = re.compile(
    r"""(?P<type>"[^"]+"|'[^']+'|[^\s\[]+)\s+\[\[(?P<target>[^\[\]]+)\]\]\s*(?P<rest>\(.*\))?\s*"""
)
_TAG = re.compile(r"(?:^|\s)#(?P<tag>[^\s#]+)")
_TIME = re.compile(r"[\d:.,\s-]+")  # the time code of a transcript, which is not a category
_PAIR = re.compile(r"(?P<name>[A-Za-z0-9_-]+)\s*:\s*(?P<value>.*)")


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown file: its path within the export, its text, and when it was changed."""

    path: str
    content: bytes
    changed: datetime | None = None


@dataclass(slots=True)
class _Front:
    """The understood part of front matter; `skipped_lines` counts the rest."""

    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    skipped_lines: int = 0

    def all(self, name: str) -> list[str]:
        if name in self.lists:
            return self.lists[name]
        return [tag for tag in re.split(r"[,\s]+", self.values.get(name, "")) if tag]


def read_basic_memory(pages: Iterable[Page], *, today: datetime) -> Iterator[ParsedPart]:
    """Yield each note as knowledge, and its observations and relations as scenes."""
    for page in pages:
        try:
            text = page.content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            yield SkippedPart(page.path, "not text in UTF-8")
            continue
        front, body = _split(text)
        if front.skipped_lines:
            yield SkippedPart(page.path, "front matter that is more than names and values")
        stem = page.path.rpartition("/")[2].removesuffix(".md")
        title = one_tag(front.values.get("title", "")) or one_tag(stem) or page.path
        day = (
            day_of(front.values.get("created"))
            or day_of(front.values.get("date"))
            or day_of(front.values.get("modified"))
            or page.changed
        )
        yield from _note(page, title, front, body, day, today)


def _note(
    page: Page, title: str, front: _Front, body: str, day: datetime | None, today: datetime
) -> Iterator[ParsedPart]:
    if not body.strip():
        yield SkippedPart(page.path, "a note without text")
        return
    yield from records_or_reason(page.path, knowledge_records(title, body, day=day or today))
    tags = front.all("tags")
    for number, item in _items(body):
        where = f"{page.path}, line {number}"
        if (relation := _RELATION.fullmatch(item)) is not None:
            type_ = relation["type"].strip("\"'").replace("_", " ")
            target = relation["target"].partition("|")[0].strip()
            scenes = scene_records(
                f"{title} {type_} {target} {relation['rest'] or ''}".strip(),
                program=_PROGRAM,
                place=str(page.path),
                actors=[title, target],
                themes=tags,
                day=day,
                today=today,
            )
        elif (observation := _OBSERVATION.fullmatch(item)) is not None and _is_category(
            observation["category"]
        ):
            content = observation["content"]
            content_tags = [match["tag"] for match in _TAG.finditer(content)]
            scenes = scene_records(
                content,
                program=_PROGRAM,
                place=str(page.path),
                themes=[observation["category"], *content_tags, *tags],
                setting=title,
                day=day,
                today=today,
            )
        else:
            continue  # a plain list item is only part of the knowledge
        yield from records_or_reason(where, scenes)


def _is_category(text: str) -> bool:
    """Return whether the text in brackets is a category, not a checkbox or a time."""
    name = text.strip()
    return bool(name) and name not in "xX" and not _TIME.fullmatch(name) and name[0].isalnum()


def _items(body: str) -> Iterator[tuple[int, str]]:
    """Yield list items outside of code blocks, with their line numbers."""
    fence: str | None = None
    for number, line in enumerate(body.split("\n"), start=1):
        match = _FENCE.match(line)
        if fence is not None:
            if match is not None and match["ticks"].startswith(fence):
                fence = None
        elif match is not None:
            fence = match["ticks"]
        elif (item := _ITEM.match(line)) is not None:
            yield number, item["item"].strip()


def _split(text: str) -> tuple[_Front, str]:
    front = _Front()
    if not text.startswith("---\n"):
        return front, text
    head, end, body = text[4:].partition("\n---\n")
    if not end and not text.rstrip().endswith("\n---"):
        return front, text
    if not end:
        head, body = text[4:].rstrip().removesuffix("---"), ""
    name = ""
    for line in head.split("\n"):
        pair = _PAIR.fullmatch(line)
        if pair is not None:
            name, value = pair["name"].lower(), pair["value"].strip()
            if value.startswith("[") and value.endswith("]"):
                inner = value[1:-1].split(",")
                front.lists[name] = [text for part in inner if (text := _unquoted(part))]
            else:
                front.values[name] = _unquoted(value)
        elif (item := _ITEM.match(line)) is not None and name:
            front.lists.setdefault(name, []).append(_unquoted(item["item"]))
        elif line.strip() and not line.lstrip().startswith("#"):
            front.skipped_lines += 1
    return front, body


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
