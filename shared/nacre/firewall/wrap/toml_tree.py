"""TOML with places: tomllib says whether a file is right, this says where everything stands."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from nacre.core.errors import ConfigurationError
from nacre.firewall.wrap.config_tree import (
    Edit,
    Literal,
    Member,
    Node,
    Paths,
    Value,
    beginning_with,
    indent_before,
    item_separator,
    newline_of,
)
from nacre.firewall.wrap.json_tree import quoted

# Atomic groups: Python before 3.11.5 misreads the possessive `(?:…)*+` that would say the same.
_GAP = re.compile(r"(?>(?:[ \t\r\n]++|#[^\n]*+)*)")
_BLANK = re.compile(r"[ \t]*+")
_BARE = re.compile(r"[A-Za-z0-9_-]++")
_STRING = re.compile(
    r'"""(?>(?:[^"\\]++|\\.|"(?!""))*)"{3,5}'
    r"|'''(?>(?:[^']++|'(?!''))*)'{3,5}"
    r'|"(?>(?:[^"\\\n]++|\\.)*)"'
    r"|'[^'\n]*+'",
    re.DOTALL,
)
_WORD = re.compile(r"[^\s,\]}#]++(?: \d\d:[^\s,\]}#]++)?")  # a date may hold one space
_AT_LINE = re.compile(r"\(at line (\d+)")
_DOTTED = "its keys are written with dots; give it a table of its own"


class Toml:
    """The dialect of clients that write TOML."""

    def parse(self, text: str, containers: Paths = ()) -> Node:
        """Return the tree; ConfigurationError says in which line the text is wrong."""
        del containers
        try:
            tomllib.loads(text.removeprefix("\ufeff"))
        except tomllib.TOMLDecodeError as error:
            line = _AT_LINE.search(str(error))
            where = f"line {line[1]}: " if line else ""
            raise ConfigurationError(f"{where}this is no TOML") from None
        except RecursionError:
            raise ConfigurationError("values are nested too deep") from None
        except ValueError:  # what TOML allows, and Python does not
            raise ConfigurationError("a number in it has too many digits") from None
        return _node(_Scanner(text).document())

    def scalar(self, node: Node, value: str) -> Edit:
        """Return the edit that puts a text in the place of a value."""
        return node.start, node.end, _quoted(value)

    def beginning(self, text: str, node: Node, dropped: int, added: Sequence[str]) -> Edit:
        """Return the edit that puts texts in the place of a list's first items; one is left."""
        between = item_separator(text, node)
        return beginning_with(node, dropped, [_quoted(each) for each in added], between)

    def member(self, text: str, after: Member, parent: Node, key: str, value: Value) -> Edit:
        """Return the edit that adds a member after another one."""
        between = ", "
        if parent.is_block:
            between = newline_of(text) + (indent_before(text, after.start) or "")
        end = after.node.end
        return end, end, f"{between}{_key(key)} = {_one_line(value)}"

    def whole(self, text: str, node: Node, value: Mapping[str, Value]) -> Edit:
        """Return the edit that writes a map anew."""
        if not node.is_block:
            return node.start, node.end, _one_line(dict(value))
        start, end = self.extent(text, node)
        lines = [text[start : _Scanner(text).header(start)[1]]]
        lines += [f"{_key(key)} = {_one_line(each)}" for key, each in value.items()]
        return start, end, newline_of(text).join(lines)

    def extent(self, text: str, node: Node) -> tuple[int, int]:
        """Return from where to where a table stands with those below it."""
        if not node.is_block:
            return node.start, node.end
        places = sorted(_places(node))
        for (_, end), (start, _) in pairwise(places):
            if end < start and not _GAP.fullmatch(text, end, start):
                raise ConfigurationError("parts of it stand after other tables; move them together")
        if places[0][0] != node.start:
            raise ConfigurationError("a part of it stands before its own table; move it below")
        return node.start, max(end for _, end in places)


@dataclass(slots=True)
class _Table:
    """A table while it is read; one of dotted keys has no place of its own."""

    start: int
    end: int
    has_header: bool = False
    fixed: str = ""
    entries: "dict[str, tuple[int, _Table | list[_Table] | Node]]" = field(default_factory=dict)


class _Scanner:
    """One pass over a text that is known to be right."""

    def __init__(self, text: str) -> None:
        self._text = text

    def document(self) -> _Table:
        root = table = _Table(0, 0)
        at = self._gap(1 if self._text.startswith("\ufeff") else 0)
        while at < len(self._text):
            if self._text[at] == "[":
                path, end = self.header(at)
                table = _opened(root, path, at, is_array=self._text.startswith("[[", at))
                table.end = end
            else:
                end = self._assign(table, at)
                table.end = end
            at = self._gap(end)
        return root

    def header(self, at: int) -> tuple[list[str], int]:
        """Return the path of a table's header, and where the header ends."""
        brackets = 2 if self._text.startswith("[[", at) else 1
        path, end = self._path(at + brackets)
        return path, end + brackets

    def _assign(self, table: _Table, start: int) -> int:
        path, equals = self._path(start)
        node = self._value(self._blank(equals + 1))
        for key in path[:-1]:
            entry = table.entries.setdefault(key, (start, _Table(start, start, fixed=_DOTTED)))[1]
            if not isinstance(entry, _Table):
                raise TypeError
            entry.end = node.end
            table = entry
        table.entries[path[-1]] = (start, node)
        return node.end

    def _path(self, at: int) -> tuple[list[str], int]:
        """Return the keys of a path, and where what follows it begins."""
        path = []
        while True:
            at = self._blank(at)
            bare = _BARE.match(self._text, at)
            if bare:
                path.append(bare[0])
                at = self._blank(bare.end())
            else:
                end, key = self._string(at)
                path.append(key)
                at = self._blank(end)
            if self._text[at] != ".":
                return path, at
            at += 1

    def _value(self, at: int) -> Node:
        opening = self._text[at]
        if opening in {'"', "'"}:
            end, text = self._string(at)
            return Node(at, end, text)
        if opening == "[":
            items = []
            inner = self._gap(at + 1)
            while self._text[inner] != "]":
                items.append(self._value(inner))
                inner = self._next(items[-1].end)
            return Node(at, inner + 1, items=tuple(items))
        if opening == "{":
            table = _Table(at, at)
            inner = self._gap(at + 1)
            while self._text[inner] != "}":
                inner = self._next(self._assign(table, inner))
            return Node(at, inner + 1, members=_members(table))
        word = _WORD.match(self._text, at)
        end = word.end() if word else at
        return Node(at, end, Literal(self._text[at:end]))

    def _next(self, end: int) -> int:
        at = self._gap(end)
        return self._gap(at + 1) if self._text[at] == "," else at

    def _string(self, at: int) -> tuple[int, str]:
        found = _STRING.match(self._text, at)
        if found is None:
            raise ConfigurationError("a text in it cannot be read")
        return found.end(), str(tomllib.loads(f"text = {found[0]}")["text"])

    def _gap(self, at: int) -> int:
        found = _GAP.match(self._text, at)
        return found.end() if found else at

    def _blank(self, at: int) -> int:
        found = _BLANK.match(self._text, at)
        return found.end() if found else at


def _opened(root: _Table, path: Sequence[str], start: int, *, is_array: bool) -> _Table:
    """Return the table that a header opens."""
    table = root
    for key in path[:-1]:
        entry = table.entries.setdefault(key, (start, _Table(start, start)))[1]
        last = entry[-1] if isinstance(entry, list) else entry
        if not isinstance(last, _Table):
            raise ConfigurationError("a table stands in it that cannot be read")
        table = last
    opened = _Table(start, start, has_header=True)
    key = path[-1]
    known = table.entries.setdefault(key, (start, [opened] if is_array else opened))[1]
    if isinstance(known, list) and known[-1] is not opened:
        known.append(opened)
    elif isinstance(known, _Table) and known is not opened:  # made by a table below it
        known.start, known.end, known.has_header = start, start, True
        return known
    return opened


def _node(table: _Table) -> Node:
    return Node(
        table.start,
        table.end,
        members=_members(table),
        is_block=table.has_header,
        fixed=table.fixed,
    )


def _members(table: _Table) -> tuple[Member, ...]:
    members = []
    for key, (start, entry) in table.entries.items():
        if isinstance(entry, list):
            tables = tuple(map(_node, entry))
            node = Node(tables[0].start, tables[-1].end, items=tables, is_block=True)
        else:
            node = _node(entry) if isinstance(entry, _Table) else entry
        members.append(Member(key, start, node))
    return tuple(members)


def _places(node: Node) -> Iterator[tuple[int, int]]:
    """Yield where a table and those below it stand."""
    if node.is_block and node.members is not None:
        yield node.start, node.end
    for each in (*(member.node for member in node.members or ()), *(node.items or ())):
        yield from _places(each)


def _quoted(text: str) -> str:
    return quoted(text).replace("\x7f", "\\u007F")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _quoted(key)


def _one_line(value: Value) -> str:
    match value:
        case str():
            return _quoted(value)
        case Literal(text):
            return text
        case list():
            return f"[{', '.join(map(_one_line, value))}]"
        case dict():
            members = ", ".join(f"{_key(key)} = {_one_line(each)}" for key, each in value.items())
            return f"{{ {members} }}" if members else "{}"
