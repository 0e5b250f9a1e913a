"""A configuration file as a tree that keeps the position of each value in the text."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RawValue:
    """A value that is not a string, as it is written: a number, true, a date."""

    text: str


Value = str | RawValue | list["Value"] | dict[str, "Value"]


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position; a map has `members`, a list has `items`.

    `is_block` means that members or items are on separate lines, without brackets.
    `uneditable` is the reason why the value cannot be edited, or empty.
    """

    start: int
    end: int
    scalar: str | RawValue = ""
    members: "tuple[Member, ...] | None" = None
    items: "tuple[Node, ...] | None" = None
    is_block: bool = False
    uneditable: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A key of a map, its position, and its value."""

    key: str
    start: int
    node: Node


Edit = tuple[int, int, str]
"""The start and end of the old text, and the new text."""


Paths = tuple[tuple[str, ...], ...]
"""Keys that lead to containers of servers; a `*` matches every key."""


class Dialect(ABC):
    """A file format: parses a file, and makes small edits to its text.

    The shared methods write JSON syntax. A format with another syntax overrides them.
    """

    @abstractmethod
    def parse(self, text: str, containers: Paths = ()) -> Node:
        """Return the tree; raise ConfigurationError with the line if the text is wrong.

        A value outside the path to a container may be returned as one RawValue.
        """

    @abstractmethod
    def add_member(self, text: str, after: Member, parent: Node, key: str, value: Value) -> Edit:
        """Return the edit that adds a member after another one."""

    @abstractmethod
    def replace_map(self, text: str, node: Node, value: Mapping[str, Value]) -> Edit:
        """Return the edit that rewrites a map completely."""

    @abstractmethod
    def insertion(self, text: str, root: Node, path: Sequence[str], value: Value) -> Edit:
        """Return the edit that adds a value at a path, with the maps that lead to it."""

    def removal(self, text: str, root: Node, path: Sequence[str]) -> Edit:
        """Return the edit that removes the member at a path."""
        del text
        parent = root
        for key in path[:-1]:
            parent = member_at(parent, key).node
        members = parent.members or ()
        member = member_at(parent, path[-1])
        place = members.index(member)
        if len(members) == 1:
            return parent.start, parent.end, "{}"
        if place + 1 < len(members):
            return member.start, members[place + 1].start, ""
        return members[place - 1].node.end, member.node.end, ""

    def replace_scalar(self, node: Node, value: str) -> Edit:
        """Return the edit that replaces a value with a text."""
        return node.start, node.end, self.quoted(value)

    def replace_first_items(
        self, text: str, node: Node, dropped: int, added: Sequence[str]
    ) -> Edit:
        """Return the edit that replaces the first items of a list, which has at least one."""
        items = node.items or ()
        first = items[0].start
        separator = self.item_separator(text, node)
        values = [self.quoted(value) for value in added]
        if dropped == len(items):
            return first, items[-1].end, separator.join(values)
        return first, items[dropped].start, "".join(value + separator for value in values)

    def item_separator(self, text: str, node: Node) -> str:
        """Return the text between two items of a list."""
        indent = indent_before(text, node.items[0].start) if node.items else None
        return ", " if indent is None else f",{newline_of(text)}{indent}"

    def extent(self, text: str, node: Node) -> tuple[int, int]:
        """Return the start and end of a map.

        Raise ConfigurationError if its parts are in several places of the file.
        """
        del text
        return node.start, node.end

    def quoted(self, text: str) -> str:
        """Return a text in quotes."""
        has_surrogates = any("\ud800" <= character <= "\udfff" for character in text)
        return json.dumps(text, ensure_ascii=has_surrogates)

    def one_line(self, value: Value) -> str:
        """Return a value on one line."""
        match value:
            case str():
                return self.quoted(value)
            case RawValue(text):
                return text
            case list():
                return f"[{', '.join(map(self.one_line, value))}]"
            case dict():
                return self.one_line_map(value)

    def one_line_map(self, value: Mapping[str, Value]) -> str:
        """Return a map on one line."""
        members = (f"{self.quoted(key)}: {self.one_line(item)}" for key, item in value.items())
        return f"{{{', '.join(members)}}}"


def value_of(node: Node) -> Value:
    """Return the value of a tree; if two members have the same key, the last one wins."""
    if node.members is not None:
        return {member.key: value_of(member.node) for member in node.members}
    if node.items is not None:
        return [value_of(item) for item in node.items]
    return node.scalar


def map_for(root: Node, path: Sequence[str], value: Value) -> tuple[Node, str, Value]:
    """Return the deepest map on a path, and the member to add there so that the path exists."""
    parent, depth = root, 0
    for key in path[:-1]:
        member = single_member(parent, key)
        if member is None:
            break
        if member.node.members is None or member.node.uneditable:
            raise ConfigurationError(member.node.uneditable or f"'{key}' in it is not a map")
        parent, depth = member.node, depth + 1
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return parent, path[depth], value


def content_except(node: Node, hidden: Node) -> object:
    """Return the content of a tree without one of its nodes, to compare two trees."""
    if node is hidden:
        return "hidden"
    if node.members is not None:
        return tuple((member.key, content_except(member.node, hidden)) for member in node.members)
    if node.items is not None:
        return [content_except(item, hidden) for item in node.items]
    return node.scalar


def single_member(node: Node, key: str) -> Member | None:
    """Return the member with a key, or None; raise ConfigurationError if there are two."""
    members = [member for member in node.members or () if member.key == key]
    if len(members) > 1:
        raise ConfigurationError(f"'{key}' is there twice; remove one of them")
    return members[0] if members else None


def member_at(node: Node, key: str) -> Member:
    """Return the only member with a key, or raise ConfigurationError."""
    member = single_member(node, key)
    if member is None:
        raise ConfigurationError(f"'{key}' is no longer there")
    return member


def check_keys(node: Node) -> None:
    """Raise ConfigurationError if two members of one map have the same key."""
    for member in node.members or ():
        single_member(node, member.key)
        check_keys(member.node)
    for item in node.items or ():
        check_keys(item)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits applied; they must not overlap."""
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def edits_between(dialect: Dialect, text: str, node: Node, new: Mapping[str, Value]) -> list[Edit]:
    """Return the edits that turn a map into a new one, as few and small as possible."""
    small = _small_edits(dialect, text, node, new)
    return [dialect.replace_map(text, node, new)] if small is None else small


def _small_edits(
    dialect: Dialect, text: str, node: Node, new: Mapping[str, Value]
) -> list[Edit] | None:
    """Return edits of single values, or None if members are removed or change their kind."""
    members = {member.key: member for member in node.members or ()}
    added = [key for key in new if key not in members]
    if members.keys() - new.keys() or len(added) > 1:
        return None
    edits: list[Edit] = []
    anchor: Member | None = None
    for key, member in members.items():
        if value_of(member.node) == new[key]:
            continue
        value_edits = _value_edits(dialect, text, member.node, new[key])
        if value_edits is None:
            return None
        edits += value_edits
        anchor = member
    for key in added:
        if anchor is None or anchor.node.members is not None or anchor.node.is_block:
            return None
        edits.append(dialect.add_member(text, anchor, node, key, new[key]))
    return edits


def _value_edits(dialect: Dialect, text: str, node: Node, new: Value) -> list[Edit] | None:
    if node.uneditable:
        raise ConfigurationError(node.uneditable)
    if isinstance(new, dict):
        return None if node.members is None else _small_edits(dialect, text, node, new)
    if isinstance(new, str):
        is_text = node.members is None and node.items is None and isinstance(node.scalar, str)
        return [dialect.replace_scalar(node, new)] if is_text else None
    if not isinstance(new, list) or node.items is None:
        return None
    if not new:
        return [(node.start, node.end, "[]")]
    old = [value_of(item) for item in node.items]
    same = 0
    while same < min(len(old), len(new)) and old[-1 - same] == new[-1 - same]:
        same += 1
    added = [item for item in new[: len(new) - same] if isinstance(item, str)]
    if not old or len(added) != len(new) - same:
        return None
    return [dialect.replace_first_items(text, node, len(old) - same, added)]


def newline_of(text: str) -> str:
    """Return the line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def line_start(text: str, at: int) -> int:
    """Return the start of the line at a position."""
    return text.rfind("\n", 0, at) + 1


def indent_before(text: str, at: int) -> str | None:
    """Return the white space before a position, or None if other text is before it."""
    before = text[line_start(text, at) : at].lstrip("\ufeff")
    return before if not before.strip(" \t") else None


def line_error(text: str, at: int, reason: str) -> ConfigurationError:
    """Return the error for a position in a text; it names the line but quotes nothing."""
    line = text.count("\n", 0, at) + 1
    return ConfigurationError(f"line {line}: {reason}")
