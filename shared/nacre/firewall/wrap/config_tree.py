"""A configuration file as a tree that remembers where each value stands in the text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from nacre.core.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that is no text, as it is written: a number, true, a date."""

    text: str


Value = str | Literal | list["Value"] | dict[str, "Value"]


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place; a map has `members`, a list has `items`.

    `is_block` says that members or items stand on lines of their own, without brackets.
    `fixed` says why the value cannot be edited, where it cannot.
    """

    start: int
    end: int
    scalar: str | Literal = ""
    members: "tuple[Member, ...] | None" = None
    items: "tuple[Node, ...] | None" = None
    is_block: bool = False
    fixed: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A key of a map, where it begins, and its value."""

    key: str
    start: int
    node: Node


Edit = tuple[int, int, str]
"""From where to where, and what is to stand there."""


Paths = tuple[tuple[str, ...], ...]
"""Keys that lead to containers of servers; a `*` stands for every key."""


class Dialect(Protocol):
    """How a format is read, and how it is changed in a few places."""

    def parse(self, text: str, containers: Paths = ()) -> Node:
        """Return the tree; ConfigurationError says in which line the text is wrong.

        What leads to none of these containers may be one Literal.
        """
        ...

    def scalar(self, node: Node, value: str) -> Edit:
        """Return the edit that puts a text in the place of a value."""
        ...

    def beginning(self, text: str, node: Node, dropped: int, added: Sequence[str]) -> Edit:
        """Return the edit that puts texts in the place of a list's first items; one is left."""
        ...

    def member(self, text: str, after: Member, parent: Node, key: str, value: Value) -> Edit:
        """Return the edit that adds a member after another one."""
        ...

    def whole(self, text: str, node: Node, value: Mapping[str, Value]) -> Edit:
        """Return the edit that writes a map anew."""
        ...

    def extent(self, text: str, node: Node) -> tuple[int, int]:
        """Return from where to where all of a map stands; ConfigurationError where apart."""
        ...


def value_of(node: Node) -> Value:
    """Return a tree's value; of two members with one key the last counts."""
    if node.members is not None:
        return {member.key: value_of(member.node) for member in node.members}
    if node.items is not None:
        return [value_of(item) for item in node.items]
    return node.scalar


def shape_of(node: Node, hidden: Node) -> object:
    """Return all that a tree says, except of one of its nodes."""
    if node is hidden:
        return "hidden"
    if node.members is not None:
        return tuple((member.key, shape_of(member.node, hidden)) for member in node.members)
    if node.items is not None:
        return [shape_of(item, hidden) for item in node.items]
    return node.scalar


def only(node: Node, key: str) -> Member | None:
    """Return the member of a name; ConfigurationError where two have it."""
    found = [member for member in node.members or () if member.key == key]
    if len(found) > 1:
        raise ConfigurationError(f"'{key}' stands there twice; remove one of them")
    return found[0] if found else None


def check_keys(node: Node) -> None:
    """Raise ConfigurationError where two members of one map have one name."""
    for member in node.members or ():
        only(node, member.key)
        check_keys(member.node)
    for item in node.items or ():
        check_keys(item)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with its edits, which do not overlap."""
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def edits_between(dialect: Dialect, text: str, node: Node, new: Mapping[str, Value]) -> list[Edit]:
    """Return the edits that turn a map into a new one, few and small where that can be."""
    small = _small_edits(dialect, text, node, new)
    return [dialect.whole(text, node, new)] if small is None else small


def _small_edits(
    dialect: Dialect, text: str, node: Node, new: Mapping[str, Value]
) -> list[Edit] | None:
    """Return edits of single values; None where members go or change their kind."""
    members = {member.key: member for member in node.members or ()}
    added = [key for key in new if key not in members]
    if members.keys() - new.keys() or len(added) > 1:
        return None
    edits: list[Edit] = []
    anchor: Member | None = None
    for key, member in members.items():
        if value_of(member.node) == new[key]:
            continue
        found = _value_edits(dialect, text, member.node, new[key])
        if found is None:
            return None
        edits += found
        anchor = member
    for key in added:
        if anchor is None or anchor.node.members is not None or anchor.node.is_block:
            return None
        edits.append(dialect.member(text, anchor, node, key, new[key]))
    return edits


def _value_edits(dialect: Dialect, text: str, node: Node, wanted: Value) -> list[Edit] | None:
    if node.fixed:
        raise ConfigurationError(node.fixed)
    if isinstance(wanted, dict):
        return None if node.members is None else _small_edits(dialect, text, node, wanted)
    if isinstance(wanted, str):
        is_text = node.members is None and node.items is None and isinstance(node.scalar, str)
        return [dialect.scalar(node, wanted)] if is_text else None
    if not isinstance(wanted, list) or node.items is None:
        return None
    if not wanted:
        return [(node.start, node.end, "[]")]
    have = [value_of(item) for item in node.items]
    same = 0
    while same < min(len(have), len(wanted)) and have[-1 - same] == wanted[-1 - same]:
        same += 1
    added = [each for each in wanted[: len(wanted) - same] if isinstance(each, str)]
    if not have or len(added) != len(wanted) - same:
        return None
    return [dialect.beginning(text, node, len(have) - same, added)]


def newline_of(text: str) -> str:
    """Return how lines end in a text."""
    return "\r\n" if "\r\n" in text else "\n"


def line_start(text: str, at: int) -> int:
    """Return where the line of a place begins."""
    return text.rfind("\n", 0, at) + 1


def indent_before(text: str, at: int) -> str | None:
    """Return the white space before a place; None where its line begins with something else."""
    before = text[line_start(text, at) : at].lstrip("\ufeff")
    return before if not before.strip(" \t") else None


def item_separator(text: str, node: Node) -> str:
    """Return what stands between the items of a list in brackets, as its first item is set."""
    items = node.items or ()
    indent = indent_before(text, items[0].start) if items else None
    return ", " if indent is None else f",{newline_of(text)}{indent}"


def beginning_with(node: Node, dropped: int, added: Sequence[str], between: str) -> Edit:
    """Return the edit that puts written values in the place of a list's first items."""
    items = node.items or ()
    first = items[0].start
    if dropped == len(items):
        return first, items[-1].end, between.join(added)
    return first, items[dropped].start, "".join(each + between for each in added)


def bad_line(text: str, at: int, reason: str) -> ConfigurationError:
    """Return the error for a place in a text, which it does not repeat."""
    line = text.count("\n", 0, at) + 1
    return ConfigurationError(f"line {line}: {reason}")
