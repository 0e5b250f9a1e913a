"""A page with a list of memories, each item with the id of its memory at its end.

Everything else on a page belongs to its owner and stays as it is: headings, paragraphs, order.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from nacre.being.memory.mirror.memory_line import plain
from nacre.core.lazy_dataclasses import dataclass, replace

_ITEM = re.compile(r"[-*+] +(?=\S)")
_RULE = re.compile(r"[-*+](?: +[-*+])+\s*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ID = re.compile(
    r"(?:^|\s)\^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26})\s*$"
)


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the list: its memory's id, if it has one, and its text."""

    raw: str  # its lines as they are in the file
    text: str
    memory_id: str | None = None


Segment = str | Item


def parsed_page(content: str) -> list[Segment]:
    """Return the items of a page and the lines between them."""
    segments: list[Segment] = []
    lines = content.split("\n")
    place = _head_end(lines)
    segments += lines[:place]
    fence = ""
    while place < len(lines):
        line = lines[place]
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark[1].startswith(fence) else fence
        elif mark is not None:
            fence = mark[1]
        elif _ITEM.match(line) and not _is_rule(lines, place):
            end = _item_end(lines, place)
            segments.append(_item(lines[place:end]))
            place = end
            continue
        segments.append(line)
        place += 1
    return segments


def items_of(segments: Sequence[Segment]) -> Iterator[Item]:
    """Yield the items of a page."""
    return (segment for segment in segments if isinstance(segment, Item))


def new_item(text: str, memory_id: str) -> Item:
    """Return the item of a memory."""
    first, *rest = plain(text).split("\n")
    lines = [f"- {first}", *(f"  {line}" if line else "" for line in rest)]
    return Item(f"{chr(10).join(lines)} ^{memory_id}", plain(text), memory_id)


def written_page(segments: Sequence[Segment]) -> str:
    """Return the content of a page."""
    return "\n".join(segment.raw if isinstance(segment, Item) else segment for segment in segments)


def with_items_added(segments: Sequence[Segment], items: Sequence[Item]) -> list[Segment]:
    """Return the page with items after its last item, or at its end."""
    result = list(segments)
    places = [place for place, segment in enumerate(result) if isinstance(segment, Item)]
    if places:
        place = places[-1] + 1
    else:
        while result and result[-1] == "":
            result.pop()
        result += [""] if result else []
        place = len(result)
        result.append("")
    result[place:place] = items
    return result


def with_items_replaced(
    segments: Sequence[Segment], items: Mapping[int, Item | None]
) -> list[Segment]:
    """Return the page with other items at some places; None removes one."""
    result: list[Segment] = []
    for place, segment in enumerate(segments):
        after = items.get(place, segment) if isinstance(segment, Item) else segment
        if after is not None:
            result.append(after)
    return result


def _head_end(lines: Sequence[str]) -> int:
    """Return the number of lines of the front matter."""
    if not lines or lines[0].rstrip() != "---":
        return 0
    for place, line in enumerate(lines[1:], start=1):
        if line.rstrip() in ("---", "..."):
            return place + 1
    return 0


def _is_rule(lines: Sequence[str], place: int) -> bool:
    """Return whether a line is a horizontal rule such as `* * *`."""
    return _RULE.fullmatch(lines[place]) is not None and _item_end(lines, place) == place + 1


def _item_end(lines: Sequence[str], place: int) -> int:
    end = place + 1
    next_ = end
    while next_ < len(lines):
        line = lines[next_]
        if line.startswith(("  ", "\t")) and line.strip():
            end = next_ + 1
        elif line.strip():
            break
        next_ += 1
    return end


def _item(lines: Sequence[str]) -> Item:
    mark = _ITEM.match(lines[0])
    assert mark is not None
    texts = [lines[0][mark.end() :]]
    texts += [line[1:] if line.startswith("\t") else line[2:] for line in lines[1:]]
    text = "\n".join(texts)
    item = Item("\n".join(lines), plain(text))
    match = _ID.search(item.text)
    if match is None:
        return item
    return replace(item, text=plain(item.text[: match.start()]), memory_id=match[1])
