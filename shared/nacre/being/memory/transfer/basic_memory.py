"""Notes of basic-memory: Markdown files with front matter, observations and relations.

An observation is a list item `- [category] what #tag (context)`, a relation one of the form
`- relates_to [[Other note]] (context)`. The whole note becomes knowledge under its title.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from nacre.being.memory.transfer.foreign_records import (
    Found,
    NotUnderstood,
    day_of,
    knowledge_records,
    one_tag,
    scene_records,
    understood,
)

_PROGRAM = "basic-memory"
_ITEM = re.compile(r"^\s*[-*+]\s+(?P<item>\S.*)$")
_FENCE = re.compile(r"^\s*(?P<ticks>```+|~~~+)")
_OBSERVATION = re.compile(r"\[(?P<category>[^\[\]()]+)\]\s+(?P<content>.+)")
_RELATION = re.compile(
    r"""(?P<type>"[^"]+"|'[^']+'|[^\s\[]+)\s+\[\[(?P<target>[^\[\]]+)\]\]\s*(?P<rest>\(.*\))?\s*"""
)
_TAG = re.compile(r"(?:^|\s)#(?P<tag>[^\s#]+)")
_TIME = re.compile(r"[\d:.,\s-]+")  # a time code of a transcript is no category
_PAIR = re.compile(r"(?P<name>[A-Za-z0-9_-]+)\s*:\s*(?P<value>.*)")


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown file: its path within the export, its text, and when it was changed."""

    path: str
    content: bytes
    changed: datetime | None = None


@dataclass(slots=True)
class _Front:
    """Front matter, as far as it is understood."""

    values: dict[str, str] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    strange: int = 0

    def all(self, name: str) -> list[str]:
        if name in self.lists:
            return self.lists[name]
        return [each for each in re.split(r"[,\s]+", self.values.get(name, "")) if each]


def read_basic_memory(pages: Iterable[Page], *, today: datetime) -> Iterator[Found]:
    """Give each note as knowledge, and its observations and relations as scenes."""
    for page in pages:
        try:
            text = page.content.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            yield NotUnderstood(page.path, "not text in UTF-8")
            continue
        front, body = _split(text)
        if front.strange:
            yield NotUnderstood(page.path, "front matter that is more than names and values")
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
) -> Iterator[Found]:
    if not body.strip():
        yield NotUnderstood(page.path, "a note without text")
        return
    yield from understood(page.path, knowledge_records(title, body, day=day or today))
    tags = front.all("tags")
    for number, item in _items(body):
        where = f"{page.path}, line {number}"
        if (relation := _RELATION.fullmatch(item)) is not None:
            type_ = relation["type"].strip("\"'").replace("_", " ")
            target = relation["target"].partition("|")[0].strip()
            scenes = scene_records(
                f"{title} {type_} {target} {relation['rest'] or ''}".strip(),
                origin=f"{_PROGRAM}\n{page.path}",
                actors=[title, target],
                themes=tags,
                day=day,
                today=today,
            )
        elif (observation := _OBSERVATION.fullmatch(item)) is not None and _is_category(
            observation["category"]
        ):
            content = observation["content"]
            found = [each["tag"] for each in _TAG.finditer(content)]
            scenes = scene_records(
                content,
                origin=f"{_PROGRAM}\n{page.path}",
                themes=[observation["category"], *found, *tags],
                setting=title,
                day=day,
                today=today,
            )
        else:
            continue  # a plain list item: it is in the knowledge
        yield from understood(where, scenes)


def _is_category(text: str) -> bool:
    """Whether brackets hold a category, not a box to tick or a time."""
    name = text.strip()
    return bool(name) and name not in "xX" and not _TIME.fullmatch(name) and name[0].isalnum()


def _items(body: str) -> Iterator[tuple[int, str]]:
    """Give list items outside of code and quotations, with their lines."""
    fence: str | None = None
    for number, line in enumerate(body.split("\n"), start=1):
        found = _FENCE.match(line)
        if fence is not None:
            if found is not None and found["ticks"].startswith(fence):
                fence = None
        elif found is not None:
            fence = found["ticks"]
        elif (item := _ITEM.match(line)) is not None:
            yield number, item["item"].strip()


def _split(text: str) -> tuple[_Front, str]:
    front = _Front()
    if not text.startswith("---\n"):
        return front, text
    head, found, body = text[4:].partition("\n---\n")
    if not found and not text.rstrip().endswith("\n---"):
        return front, text
    if not found:
        head, body = text[4:].rstrip().removesuffix("---"), ""
    name = ""
    for line in head.split("\n"):
        pair = _PAIR.fullmatch(line)
        if pair is not None:
            name, value = pair["name"].lower(), pair["value"].strip()
            if value.startswith("[") and value.endswith("]"):
                inner = value[1:-1].split(",")
                front.lists[name] = [bare for each in inner if (bare := _unquoted(each))]
            else:
                front.values[name] = _unquoted(value)
        elif (item := _ITEM.match(line)) is not None and name:
            front.lists.setdefault(name, []).append(_unquoted(item["item"]))
        elif line.strip() and not line.lstrip().startswith("#"):
            front.strange += 1
    return front, body


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text
