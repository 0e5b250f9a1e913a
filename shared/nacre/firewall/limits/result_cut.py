"""A result that is too large, cut: whole blocks, one text that ends early, and a note about it."""

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nacre.core.limits import WHOLE_RESULT_SECONDS
from nacre.firewall.rules.limit import Limit
from nacre.protocol import strict_json
from nacre.protocol.encoded_results import Spelled

RESULTS = "nacre://results/"
_LISTS = {"tools/call": "content", "resources/read": "contents"}
_STRUCTURE = "structuredContent"
_MINUTES = WHOLE_RESULT_SECONDS // 60
_JOINING = frozenset("\u200d\ufe0e\ufe0f")  # between and after the parts of one visible character
_LONGEST_CHARACTER = 64  # code points that are looked at for the beginning of a visible character


class Whole(NamedTuple):
    """The whole result: its URI, or the reason why it cannot be read."""

    uri: str | None
    reason: str = ""


def is_cuttable(method: str, result: Mapping[str, Any]) -> bool:
    """Tell whether a result is the end of a call whose results limits are about."""
    if "inputRequests" in result or result.get("resultType", "complete") != "complete":
        return False
    return method in _LISTS


def size_of(value: Any) -> int:
    """Return the size of a value as JSON, in bytes."""
    return len(value.encode() if isinstance(value, Spelled) else strict_json.encode(value))


def cut(
    method: str, result: Mapping[str, Any], limit: Limit, size: int, whole: Whole
) -> dict[str, Any]:
    """Return the beginning of a result of `size` bytes, which is within the limit.

    A tool that promises structured content has to send it, or report an error. So if that does
    not fit as a whole, the cut result is an error.
    """
    name, most = _LISTS[method], limit.amount
    blocks = result.get(name)
    blocks = blocks if isinstance(blocks, list) else []
    members = dict(_small_members(result, most))
    structure = result.get(_STRUCTURE) if method == "tools/call" else None
    note = _Note(limit, size, whole)
    longest = note.blocks(method, left_out=len(blocks), is_json=True, lacks_structure=True)
    if structure is not None:
        with_structure = {**members, name: longest, _STRUCTURE: structure}
        if size_of(with_structure) <= most:
            members[_STRUCTURE] = structure
        else:
            members["isError"] = True
    room = most - size_of({**members, name: longest})
    fitting = list(_fitting(blocks, room))
    last = fitting[-1] if fitting else None
    is_cut = last is not None and all(last is not block for block in blocks)
    end = note.blocks(
        method,
        left_out=len(blocks) - len(fitting),
        is_json=is_cut and isinstance(last, dict) and str(last["text"]).lstrip()[:1] in ("{", "["),
        lacks_structure=structure is not None and _STRUCTURE not in members,
    )
    return {**members, name: [*fitting, *end]}


def _small_members(result: Mapping[str, Any], most: int) -> Iterable[tuple[str, Any]]:
    """Yield the members besides the content that are short, such as `isError`."""
    room = most // 4
    for name in result:
        if name in (*_LISTS.values(), _STRUCTURE):
            continue
        value = result[name]
        needed = size_of({name: value})
        if needed <= room:
            room -= needed
            yield name, value


def _fitting(blocks: list[Any], room: int) -> Iterable[Any]:
    """Yield the blocks that fit, up to a text that has to be cut."""
    for block in blocks:
        needed = size_of(block) + 1
        if needed <= room:
            room -= needed
            yield block
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            room -= size_of({**block, "text": ""}) + 1
            if text := _beginning(block["text"], room):
                yield {**block, "text": text}
            return


def _beginning(text: str, room: int) -> str:
    """Return as much of a text as fits into so many bytes of JSON, and no part of a character."""
    low, high = 0, max(0, min(len(text), room))
    while low < high:
        middle = (low + high + 1) // 2
        if size_of(text[:middle]) - 2 <= room:
            low = middle
        else:
            high = middle - 1
    end = low
    for _ in range(_LONGEST_CHARACTER):
        if not 0 < end < len(text) or not _is_joined(text[end - 1], text[end]):
            return text[:end]
        end -= 1
    return text[:low]


def _is_joined(before: str, after: str) -> bool:
    """Tell whether two code points are parts of one visible character."""
    if before == "\u200d" or after in _JOINING or (before == "\r" and after == "\n"):
        return True
    return (
        unicodedata.category(after) in ("Mn", "Me", "Mc") or "\U0001f3fb" <= after <= "\U0001f3ff"
    )


class _Note:
    """The note at the end of a cut result."""

    def __init__(self, limit: Limit, size: int, whole: Whole) -> None:
        self._whole = whole
        self._size = size
        reason = f"Cut by policy ({limit.matching.origin})"
        described = limit.matching.description
        if described is not None and size_of(described) <= limit.amount // 4:
            reason = described
        self._text = f"[{reason}: this result is {size:,} bytes; the limit is {limit.amount:,}."

    def blocks(
        self, method: str, *, left_out: int, is_json: bool, lacks_structure: bool
    ) -> list[dict[str, Any]]:
        """Return the note as the last blocks of a result."""
        uri = self._whole.uri
        parts = [self._text]
        if is_json:
            parts.append("The JSON above ends early and cannot be parsed.")
        if left_out:
            parts.append(f"{left_out:,} of its parts {'is' if left_out == 1 else 'are'} left out.")
        if lacks_structure:
            parts.append("Its structured content is left out.")
        if uri is None:
            parts.append(f"{self._whole.reason}]")
        else:
            parts.append(
                f"The full result is available for {_MINUTES} minutes as the resource {uri}]"
            )
        text = " ".join(parts)
        if method == "resources/read":
            return [{"uri": uri or RESULTS, "mimeType": "text/plain", "text": text}]
        note: dict[str, Any] = {"type": "text", "text": text}
        if uri is None:
            return [note]
        link = {"type": "resource_link", "uri": uri, "name": "whole result", "size": self._size}
        return [note, link]
