"""JSON, JSONC and JSON5 as a tree with positions.

This reader is lenient: each client decides which dialect it accepts, and only the values to
change are touched.
"""

import json
import re
from collections.abc import Mapping, Sequence

from nacre.core.limits import MAX_CONFIG_DEPTH
from nacre.firewall.wrap.config_tree import (
    Dialect,
    Edit,
    Member,
    Node,
    Paths,
    RawValue,
    Value,
    indent_before,
    line_error,
    line_start,
    map_for,
    newline_of,
)

# Atomic groups: Python before 3.11.5 misreads the possessive `(?:…)*+` that would say the same.
_GAP = re.compile(r"(?>(?:[\s\ufeff]++|//[^\n\r\u2028\u2029]*+|/\*.*?\*/)*)", re.DOTALL)
_STRING = re.compile(
    r'"(?>(?:[^"\\\n\r]++|\\(?:\r\n|.))*)"' r"|'(?>(?:[^'\\\n\r]++|\\(?:\r\n|.))*)'", re.DOTALL
)
_WORD = re.compile(r"[^\s\ufeff,:\[\]{}\"'/]+")
_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|Infinity|NaN)"
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_MEANINGS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_LINE_ENDS = frozenset({"\n", "\r", "\r\n", "\u2028", "\u2029"})
_BRACKET = re.compile(r'"(?>(?:[^"\\]++|\\.)*)"|[\[\]{}]', re.DOTALL)
_STEP = "  "
_WORDS = frozenset({"true", "false", "null"})


class Json(Dialect):
    """The dialect of every client that writes JSON, JSONC or JSON5."""

    def parse(self, text: str, containers: Paths = ()) -> Node:
        """Return the tree; raise ConfigurationError with the line if the text is wrong.

        Some clients keep megabytes of history beside their servers, as strict JSON. There, a
        value that is not on the way to a container is skipped.
        """
        scanner = _Scanner(text)
        paths = containers if containers and _is_strict(text) else None
        node = scanner.value(scanner.gap(0), 0, paths)
        end = scanner.gap(node.end)
        if end != len(text):
            raise line_error(text, end, "something follows the end of the file's value")
        return node

    def add_member(self, text: str, after: Member, parent: Node, key: str, value: Value) -> Edit:
        """Return the edit that adds a member after another one."""
        del parent
        indent = indent_before(text, after.start)
        between = " " if indent is None else f"{newline_of(text)}{indent}"
        end = after.node.end
        return end, end, f",{between}{self.quoted(key)}: {self.one_line(value)}"

    def replace_map(self, text: str, node: Node, value: Mapping[str, Value]) -> Edit:
        """Return the edit that rewrites a map completely."""
        members = node.members or ()
        inner = indent_before(text, members[0].start) if members else None
        outer = indent_before(text, node.end - 1)
        if inner is None or outer is None or not inner.startswith(outer):
            return node.start, node.end, self.one_line(dict(value))
        step = inner[len(outer) :]
        return node.start, node.end, self._lines(dict(value), newline_of(text), outer, step)

    def insertion(self, text: str, root: Node, path: Sequence[str], value: Value) -> Edit:
        """Return the edit that adds a value at a path, with the maps that lead to it."""
        parent, key, value = map_for(root, path, value)
        newline = newline_of(text)
        outer = _indentation(text, parent.start)
        if parent.start == parent.end:  # there is no document yet
            body = self._lines({key: value}, newline, "", _STEP)
            return parent.start, parent.end, body + newline
        if not parent.members:
            inner = outer + _STEP
            at = parent.start + 1
            body = (
                f"{newline}{inner}{self.quoted(key)}: {self._lines(value, newline, inner, _STEP)}"
            )
            return at, at, body + ("" if "\n" in text[at : parent.end] else newline + outer)
        last = parent.members[-1]
        indent = indent_before(text, last.start)
        if indent is None:
            return self.add_member(text, last, parent, key, value)
        step = indent[len(outer) :] if indent.startswith(outer) and indent != outer else _STEP
        body = self._lines(value, newline, indent, step)
        end = last.node.end
        return end, end, f",{newline}{indent}{self.quoted(key)}: {body}"

    def _lines(self, value: Value, newline: str, outer: str, step: str) -> str:
        """Return a map with one member on each line; lists stay on one line."""
        if not isinstance(value, dict) or not value:
            return self.one_line(value)
        inner = outer + step
        members = (
            f"{inner}{self.quoted(key)}: {self._lines(item, newline, inner, step)}"
            for key, item in value.items()
        )
        return f"{{{newline}{f',{newline}'.join(members)}{newline}{outer}}}"


class _Scanner:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def gap(self, at: int) -> int:
        """Return the end of the white space and comments at a position."""
        gap = _GAP.match(self._text, at)
        return gap.end() if gap else at

    def value(self, at: int, depth: int, paths: Paths | None) -> Node:
        """Return the value at a position; without `paths`, all of it is parsed."""
        text = self._text
        if depth > MAX_CONFIG_DEPTH:
            raise line_error(text, at, "values are nested too deep")
        opening = text[at : at + 1]
        if opening == "{":
            return self._map(at, depth, paths)
        if opening == "[":
            return self._list(at, depth)
        if opening in {'"', "'"}:
            end, content = self._string(at)
            return Node(at, end, content)
        literal = _WORD.match(text, at)
        if literal is None or not (literal[0] in _WORDS or _NUMBER.fullmatch(literal[0])):
            raise line_error(text, at, "a value is missing or misspelt")
        return Node(at, literal.end(), RawValue(literal[0]))

    def _map(self, start: int, depth: int, paths: Paths | None) -> Node:
        members: list[Member] = []
        at = self.gap(start + 1)
        while self._text[at : at + 1] != "}":
            end, key = self._key(at)
            colon = self.gap(end)
            if self._text[colon : colon + 1] != ":":
                raise line_error(self._text, colon, "a ':' is missing")
            node = self._member(self.gap(colon + 1), depth + 1, key, paths)
            members.append(Member(key, at, node))
            at = self._next(node.end, "}")
        return Node(start, at + 1, members=tuple(members))

    def _member(self, at: int, depth: int, key: str, paths: Paths | None) -> Node:
        if paths is None:
            return self.value(at, depth, None)
        below = tuple(path[1:] for path in paths if path[0] in ("*", key))
        if below:
            return self.value(at, depth, below if all(below) else None)
        end = self._end(at)
        return Node(at, end, RawValue(self._text[at:end]))

    def _end(self, at: int) -> int:
        """Return the end of a value of strict JSON."""
        if self._text[at] not in "[{":
            return self.value(at, 0, None).end
        depth = 0
        for bracket in _BRACKET.finditer(self._text, at):
            mark = bracket[0]
            depth += (mark in "[{") - (mark in "]}")
            if depth == 0:
                return bracket.end()
        raise line_error(self._text, at, "a bracket is missing")

    def _list(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        at = self.gap(start + 1)
        while self._text[at : at + 1] != "]":
            items.append(self.value(at, depth + 1, None))
            at = self._next(items[-1].end, "]")
        return Node(start, at + 1, items=tuple(items))

    def _next(self, end: int, closing: str) -> int:
        """Return the start of the next member or item, or of the closing bracket."""
        at = self.gap(end)
        if self._text[at : at + 1] == ",":
            return self.gap(at + 1)
        if self._text[at : at + 1] != closing:
            raise line_error(self._text, at, f"a ',' or '{closing}' is missing")
        return at

    def _key(self, at: int) -> tuple[int, str]:
        if self._text[at : at + 1] in {'"', "'"}:
            return self._string(at)
        name = _NAME.match(self._text, at)
        if name is None:
            raise line_error(self._text, at, "a key is missing or misspelt")
        return name.end(), name[0]

    def _string(self, at: int) -> tuple[int, str]:
        string = _STRING.match(self._text, at)
        if string is None:
            raise line_error(self._text, at, "a text has no end")
        raw = string[0]
        if raw[0] == '"':
            try:
                return string.end(), str(json.loads(raw, strict=False))
            except ValueError:
                pass  # an escape that only JSON5 knows
        return string.end(), _ESCAPE.sub(_meaning, raw[1:-1])


def _indentation(text: str, at: int) -> str:
    """Return the white space at the start of the line of a position."""
    start = line_start(text, at)
    line = text[start:at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _is_strict(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _meaning(escape: re.Match[str]) -> str:
    wide, narrow, character = escape.groups()
    if wide or narrow:
        return chr(int(wide or narrow, 16))
    return "" if character in _LINE_ENDS else _MEANINGS.get(character, character)
