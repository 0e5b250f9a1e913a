"""TOML as a tree with positions. `tomllib` checks the file, and this module finds positions."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.firewall.wrap.config_tree import (
    Dialect,
    Edit,
    Member,
    Node,
    Paths,
    RawValue,
    Value,
    indent_before,
    member_at,
    newline_of,
)

# Atomic groups, because Python before 3.11.5 has a bug in the equivalent `(?:…)*+`.
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
_DOTTED = "its keys are written with dots; give it its own table"


class Toml(Dialect):
    """The dialect of clients that write TOML."""

    def parse(self, text: str, containers: Paths = ()) -> Node:
        """Return the tree; raise ConfigurationError with the line if the text is wrong."""
        del containers
        try:
            tomllib.loads(text.removeprefix("\ufeff"))
        except tomllib.TOMLDecodeError as error:
            line = _AT_LINE.search(str(error))
            where = f"line {line[1]}: " if line else ""
            raise ConfigurationError(f"{where}this is not TOML") from None
        except RecursionError:
            raise ConfigurationError("values are nested too deep") from None
        except ValueError:  # valid TOML that Python cannot read
            raise ConfigurationError("a number in it has too many digits") from None
        return _node(_Scanner(text).document())

    def add_member(self, text: str, after: Member, parent: Node, key: str, value: Value) -> Edit:
        """Return the edit that adds a member after another one."""
        between = ", "
        if parent.is_block:
            between = newline_of(text) + (indent_before(text, after.start) or "")
        end = after.node.end
        return end, end, f"{between}{self._key(key)} = {self.one_line(value)}"

    def replace_map(self, text: str, node: Node, value: Mapping[str, Value]) -> Edit:
        """Return the edit that rewrites a table completely."""
        if not node.is_block:
            return node.start, node.end, self.one_line(dict(value))
        start, end = self.extent(text, node)
        lines = [text[start : _Scanner(text).header(start)[1]]]
        lines += [f"{self._key(key)} = {self.one_line(item)}" for key, item in value.items()]
        return start, end, newline_of(text).join(lines)

    def insertion(self, text: str, root: Node, path: Sequence[str], value: Value) -> Edit:
        """Return the edit that adds a table at the end of the file."""
        del root
        newline = newline_of(text)
        lines = [f"[{'.'.join(map(self._key, path))}]"]
        if isinstance(value, dict):
            lines += [f"{self._key(key)} = {self.one_line(item)}" for key, item in value.items()]
        before = "" if not text else newline if text.endswith("\n") else newline * 2
        return len(text), len(text), before + newline.join(lines) + newline

    def removal(self, text: str, root: Node, path: Sequence[str]) -> Edit:
        """Return the edit that removes a table with its subtables."""
        node = root
        for key in path:
            node = member_at(node, key).node
        start, end = self.extent(text, node)
        line_end = text.find("\n", end)
        return start, len(text) if line_end < 0 else line_end + 1, ""

    def quoted(self, text: str) -> str:
        """Return a text in quotes."""
        return super().quoted(text).replace("\x7f", "\\u007F")

    def one_line_map(self, value: Mapping[str, Value]) -> str:
        """Return a table on one line."""
        members = [f"{self._key(key)} = {self.one_line(item)}" for key, item in value.items()]
        return f"{{ {', '.join(members)} }}" if members else "{}"

    def _key(self, key: str) -> str:
        return key if _BARE.fullmatch(key) else self.quoted(key)

    def extent(self, text: str, node: Node) -> tuple[int, int]:
        """Return the start and end of a table with its subtables."""
        if not node.is_block:
            return node.start, node.end
        places = sorted(_places(node))
        for (_, end), (start, _) in pairwise(places):
            if end < start and not _GAP.fullmatch(text, end, start):
                raise ConfigurationError("parts of it are after other tables; move them together")
        if places[0][0] != node.start:
            raise ConfigurationError("a part of it is before its own table; move it below")
        return node.start, max(end for _, end in places)


@dataclass(slots=True)
class _Table:
    """A table while it is read; a table of dotted keys has no header."""

    start: int
    end: int
    has_header: bool = False
    uneditable: str = ""
    entries: "dict[str, tuple[int, _Table | list[_Table] | Node]]" = field(default_factory=dict)


class _Scanner:
    """One pass over a text that `tomllib` has accepted."""

    def __init__(self, text: str) -> None:
        self._text = text

    def document(self) -> _Table:
        root = table = _Table(0, 0)
        at = self._gap(1 if self._text.startswith("\ufeff") else 0)
        while at < len(self._text):
            if self._text[at] == "[":
                path, end = self.header(at)
                table = _open_table(root, path, at, is_array=self._text.startswith("[[", at))
                table.end = end
            else:
                end = self._assign(table, at)
                table.end = end
            at = self._gap(end)
        return root

    def header(self, at: int) -> tuple[list[str], int]:
        """Return the path of a table's header, and the end of the header."""
        brackets = 2 if self._text.startswith("[[", at) else 1
        path, end = self._path(at + brackets)
        return path, end + brackets

    def _assign(self, table: _Table, start: int) -> int:
        path, equals = self._path(start)
        node = self._value(self._blank(equals + 1))
        for key in path[:-1]:
            entry = table.entries.setdefault(
                key, (start, _Table(start, start, uneditable=_DOTTED))
            )[1]
            if not isinstance(entry, _Table):
                raise TypeError
            entry.end = node.end
            table = entry
        table.entries[path[-1]] = (start, node)
        return node.end

    def _path(self, at: int) -> tuple[list[str], int]:
        """Return the keys of a path, and the position after it."""
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
        literal = _WORD.match(self._text, at)
        end = literal.end() if literal else at
        return Node(at, end, RawValue(self._text[at:end]))

    def _next(self, end: int) -> int:
        at = self._gap(end)
        return self._gap(at + 1) if self._text[at] == "," else at

    def _string(self, at: int) -> tuple[int, str]:
        string = _STRING.match(self._text, at)
        if string is None:
            raise ConfigurationError("a text in it cannot be read")
        return string.end(), str(tomllib.loads(f"text = {string[0]}")["text"])

    def _gap(self, at: int) -> int:
        gap = _GAP.match(self._text, at)
        return gap.end() if gap else at

    def _blank(self, at: int) -> int:
        blank = _BLANK.match(self._text, at)
        return blank.end() if blank else at


def _open_table(root: _Table, path: Sequence[str], start: int, *, is_array: bool) -> _Table:
    """Return the table that a header opens."""
    table = root
    for key in path[:-1]:
        entry = table.entries.setdefault(key, (start, _Table(start, start)))[1]
        last = entry[-1] if isinstance(entry, list) else entry
        if not isinstance(last, _Table):
            raise ConfigurationError("a table in it cannot be read")
        table = last
    opened = _Table(start, start, has_header=True)
    key = path[-1]
    entry = table.entries.setdefault(key, (start, [opened] if is_array else opened))[1]
    if isinstance(entry, list) and entry[-1] is not opened:
        entry.append(opened)
    elif isinstance(entry, _Table) and entry is not opened:  # made by a table below it
        entry.start, entry.end, entry.has_header = start, start, True
        return entry
    return opened


def _node(table: _Table) -> Node:
    return Node(
        table.start,
        table.end,
        members=_members(table),
        is_block=table.has_header,
        uneditable=table.uneditable,
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
    """Yield the start and end of a table and of its subtables."""
    if node.is_block and node.members is not None:
        yield node.start, node.end
    for child in (*(member.node for member in node.members or ()), *(node.items or ())):
        yield from _places(child)
