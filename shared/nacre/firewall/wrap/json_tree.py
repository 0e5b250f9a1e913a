"""JSON with comments, trailing commas and all else that JSON5 allows, with places.

What only a stricter reader refuses is read here too: the client decides what it takes, and
nothing but the values that are to change is touched.
"""

import json
import re
from collections.abc import Mapping, Sequence

from nacre.core.limits import MAX_CONFIG_DEPTH
from nacre.firewall.wrap.config_tree import (
    Edit,
    Literal,
    Member,
    Node,
    Paths,
    Value,
    bad_line,
    beginning_with,
    indent_before,
    item_separator,
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
_WORDS = frozenset({"true", "false", "null"})


class Json:
    """The dialect of every client that writes JSON, JSONC or JSON5."""

    def parse(self, text: str, containers: Paths = ()) -> Node:
        """Return the tree; ConfigurationError says in which line the text is wrong.

        Some clients keep megabytes of history beside their servers, as strict JSON: there, what
        leads to no container is not looked into.
        """
        scanner = _Scanner(text)
        paths = containers if containers and _is_strict(text) else None
        node = scanner.value(scanner.gap(0), 0, paths)
        end = scanner.gap(node.end)
        if end != len(text):
            raise bad_line(text, end, "something follows the end of the file's value")
        return node

    def scalar(self, node: Node, value: str) -> Edit:
        """Return the edit that puts a text in the place of a value."""
        return node.start, node.end, quoted(value)

    def beginning(self, text: str, node: Node, dropped: int, added: Sequence[str]) -> Edit:
        """Return the edit that puts texts in the place of a list's first items; one is left."""
        between = item_separator(text, node)
        return beginning_with(node, dropped, [quoted(each) for each in added], between)

    def member(self, text: str, after: Member, parent: Node, key: str, value: Value) -> Edit:
        """Return the edit that adds a member after another one."""
        del parent
        indent = indent_before(text, after.start)
        between = " " if indent is None else f"{newline_of(text)}{indent}"
        end = after.node.end
        return end, end, f",{between}{quoted(key)}: {one_line(value)}"

    def whole(self, text: str, node: Node, value: Mapping[str, Value]) -> Edit:
        """Return the edit that writes a map anew."""
        members = node.members or ()
        inner = indent_before(text, members[0].start) if members else None
        outer = indent_before(text, node.end - 1)
        if inner is None or outer is None or not inner.startswith(outer):
            return node.start, node.end, one_line(dict(value))
        step = inner[len(outer) :]
        return node.start, node.end, _lines(dict(value), newline_of(text), outer, step)

    def extent(self, text: str, node: Node) -> tuple[int, int]:
        """Return from where to where all of a map stands."""
        del text
        return node.start, node.end


class _Scanner:
    """One pass over a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def gap(self, at: int) -> int:
        """Return where the white space and the comments at a place end."""
        found = _GAP.match(self._text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int, paths: Paths | None) -> Node:
        """Return the value that begins at a place; None for paths means all that is in it."""
        text = self._text
        if depth > MAX_CONFIG_DEPTH:
            raise bad_line(text, at, "values are nested too deep")
        opening = text[at : at + 1]
        if opening == "{":
            return self._map(at, depth, paths)
        if opening == "[":
            return self._list(at, depth)
        if opening in {'"', "'"}:
            end, content = self._string(at)
            return Node(at, end, content)
        word = _WORD.match(text, at)
        if word is None or not (word[0] in _WORDS or _NUMBER.fullmatch(word[0])):
            raise bad_line(text, at, "a value is missing or misspelt")
        return Node(at, word.end(), Literal(word[0]))

    def _map(self, start: int, depth: int, paths: Paths | None) -> Node:
        members: list[Member] = []
        at = self.gap(start + 1)
        while self._text[at : at + 1] != "}":
            end, key = self._key(at)
            colon = self.gap(end)
            if self._text[colon : colon + 1] != ":":
                raise bad_line(self._text, colon, "a ':' is missing")
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
        return Node(at, end, Literal(self._text[at:end]))

    def _end(self, at: int) -> int:
        """Return where a value of strict JSON ends."""
        if self._text[at] not in "[{":
            return self.value(at, 0, None).end
        depth = 0
        for found in _BRACKET.finditer(self._text, at):
            mark = found[0]
            depth += (mark in "[{") - (mark in "]}")
            if depth == 0:
                return found.end()
        raise bad_line(self._text, at, "a bracket is missing")

    def _list(self, start: int, depth: int) -> Node:
        items: list[Node] = []
        at = self.gap(start + 1)
        while self._text[at : at + 1] != "]":
            items.append(self.value(at, depth + 1, None))
            at = self._next(items[-1].end, "]")
        return Node(start, at + 1, items=tuple(items))

    def _next(self, end: int, closing: str) -> int:
        """Return where the next member, the next item or the closing bracket begins."""
        at = self.gap(end)
        if self._text[at : at + 1] == ",":
            return self.gap(at + 1)
        if self._text[at : at + 1] != closing:
            raise bad_line(self._text, at, f"a ',' or '{closing}' is missing")
        return at

    def _key(self, at: int) -> tuple[int, str]:
        if self._text[at : at + 1] in {'"', "'"}:
            return self._string(at)
        name = _NAME.match(self._text, at)
        if name is None:
            raise bad_line(self._text, at, "a key is missing or misspelt")
        return name.end(), name[0]

    def _string(self, at: int) -> tuple[int, str]:
        found = _STRING.match(self._text, at)
        if found is None:
            raise bad_line(self._text, at, "a text has no end")
        raw = found[0]
        if raw[0] == '"':
            try:
                return found.end(), str(json.loads(raw, strict=False))
            except ValueError:
                pass  # an escape that only JSON5 knows
        return found.end(), _ESCAPE.sub(_meaning, raw[1:-1])


def _is_strict(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _meaning(escape: re.Match[str]) -> str:
    wide, narrow, other = escape.groups()
    if wide or narrow:
        return chr(int(wide or narrow, 16))
    return "" if other in _LINE_ENDS else _MEANINGS.get(other, other)


def quoted(text: str) -> str:
    """Return a text as JSON writes it."""
    half = any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(text, ensure_ascii=half)


def one_line(value: Value) -> str:
    """Return a value as JSON writes it, in one line."""
    match value:
        case str():
            return quoted(value)
        case Literal(text):
            return text
        case list():
            return f"[{', '.join(map(one_line, value))}]"
        case dict():
            members = (f"{quoted(key)}: {one_line(each)}" for key, each in value.items())
            return f"{{{', '.join(members)}}}"


def _lines(value: Value, newline: str, outer: str, step: str) -> str:
    """Return a map with its members in lines of their own; lists stay in one line."""
    if not isinstance(value, dict) or not value:
        return one_line(value)
    inner = outer + step
    members = (
        f"{inner}{quoted(key)}: {_lines(each, newline, inner, step)}" for key, each in value.items()
    )
    return f"{{{newline}{f',{newline}'.join(members)}{newline}{outer}}}"
