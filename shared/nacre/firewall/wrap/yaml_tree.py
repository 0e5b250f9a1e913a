"""YAML as a tree with positions, for the part of YAML that clients write.

PyYAML parses the file and gives the positions. An entry with an anchor, an alias or a tag is
not edited, because the change would affect other places too.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import yaml

from nacre.core.errors import ConfigurationError
from nacre.core.limits import MAX_CONFIG_DEPTH
from nacre.firewall.wrap.config_tree import (
    Dialect,
    Edit,
    Member,
    Node,
    Paths,
    RawValue,
    Value,
    line_start,
    map_for,
    newline_of,
)

_LINKED = "it has an anchor, an alias or a tag; write the values out"
_FOLDED = "a text in it spans several lines; write it on one line, in quotes"
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_TEXT = "tag:yaml.org,2002:str"
_OPENING = (
    *(yaml.BlockMappingStartToken, yaml.BlockSequenceStartToken),
    *(yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken),
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
_DASH = re.compile(r"( *)- +")


class Yaml(Dialect):
    """The dialect of clients that write YAML."""

    def parse(self, text: str, containers: Paths = ()) -> Node:
        """Return the tree; raise ConfigurationError with the line if the text is wrong."""
        del containers
        try:
            links = _links(text)
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise ConfigurationError(f"line {line}: this is not YAML") from None
        except (
            yaml.YAMLError,
            ValueError,
            OverflowError,
        ):  # the last two come from characters that do not exist
            raise ConfigurationError("the file is not YAML") from None
        except RecursionError:
            raise ConfigurationError("values are nested too deep") from None
        if root is None:
            return Node(0, 0, RawValue(""))
        return _Builder(text, links).node(root, root.start_mark.index, len(text))

    def item_separator(self, text: str, node: Node) -> str:
        """Return the text between two items of a list."""
        if not node.is_block or not node.items:
            return ", "
        first = node.items[0].start
        dash = _DASH.fullmatch(text[line_start(text, first) : first])
        if dash is None:
            raise ConfigurationError("the list begins on a line with other text")
        return f"{newline_of(text)}{dash[1]}- "

    def add_member(self, text: str, after: Member, parent: Node, key: str, value: Value) -> Edit:
        """Return the edit that adds a member after another one."""
        between = ", "
        if parent.is_block:
            column = after.start - line_start(text, after.start)
            between = newline_of(text) + " " * column
        end = after.node.end
        return end, end, f"{between}{self._key(key)}: {self.one_line(value)}"

    def replace_map(self, text: str, node: Node, value: Mapping[str, Value]) -> Edit:
        """Return the edit that rewrites a map completely."""
        if not node.is_block:
            return node.start, node.end, self.one_line(dict(value))
        column = node.start - line_start(text, node.start)
        lines = self._lines(value, column)
        return node.start, node.end, newline_of(text).join(lines).lstrip(" ")

    def insertion(self, text: str, root: Node, path: Sequence[str], value: Value) -> Edit:
        """Return the edit that adds a value at a path, with the maps that lead to it."""
        parent, key, value = map_for(root, path, value)
        if not parent.members:
            body = newline_of(text).join(self._lines({key: value}, 0)) + newline_of(text)
            if parent.start != parent.end:
                raise ConfigurationError("an empty map in it cannot be extended; remove it")
            return parent.end, parent.end, body
        last = parent.members[-1]
        if not parent.is_block:
            return self.add_member(text, last, parent, key, value)
        column = last.start - line_start(text, last.start)
        lines = self._lines({key: value}, column)
        end = last.node.end
        return end, end, "".join(newline_of(text) + line for line in lines)

    def _key(self, key: str) -> str:
        is_plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS
        return key if is_plain else self.quoted(key)

    def _lines(self, value: Mapping[str, Value], column: int) -> list[str]:
        lines = []
        for key, item in value.items():
            if isinstance(item, dict) and item:
                lines.append(f"{' ' * column}{self._key(key)}:")
                lines += self._lines(item, column + 2)
            else:
                # A key without a value means null.
                text = self.one_line(item) or "null"
                lines.append(f"{' ' * column}{self._key(key)}: {text}")
        return lines


def _links(text: str) -> list[int]:
    """Return the positions of anchors, aliases and tags, or raise ConfigurationError."""
    links, depth = [], 0
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
            links.append(token.start_mark.index)
        elif isinstance(token, _OPENING):
            depth += 1
        elif isinstance(token, _CLOSING):
            depth -= 1
        # PyYAML would need quadratic time: it checks all open brackets again at each new one.
        if depth > MAX_CONFIG_DEPTH:
            raise ConfigurationError("values are nested too deep")
    return links


class _Builder:
    """Converts PyYAML's tree to Node."""

    def __init__(self, text: str, links: Sequence[int]) -> None:
        self._text = text
        self._links = links

    def node(self, source: yaml.Node, low: int, high: int) -> Node:
        """Return the node of a value between two positions."""
        start, end = source.start_mark.index, source.end_mark.index
        if not low <= start <= end <= high:  # an alias has the position of its anchor
            return Node(low, low, uneditable=_LINKED)
        # An anchor or a tag begins its node, and an alias is inside its parent.
        uneditable = _LINKED if self._has_link(start, end) else ""
        match source:
            case yaml.MappingNode():
                members = self._members(source, end)
                last = members[-1].node.end if members and not source.flow_style else end
                return Node(
                    start,
                    last,
                    members=members,
                    is_block=not source.flow_style,
                    uneditable=uneditable,
                )
            case yaml.SequenceNode():
                items = self._items(source, end)
                last = items[-1].end if items and not source.flow_style else end
                return Node(
                    start, last, items=items, is_block=not source.flow_style, uneditable=uneditable
                )
            case _:
                return self._scalar(source, uneditable)

    def _members(self, source: yaml.MappingNode, end: int) -> tuple[Member, ...]:
        members = []
        after = [key.start_mark.index for key, _ in source.value[1:]] + [end]
        for (key, value), high in zip(source.value, after, strict=False):
            low = key.start_mark.index
            if not isinstance(key, yaml.ScalarNode) or not source.start_mark.index <= low <= high:
                node = Node(low, low, uneditable=_LINKED)
                members.append(Member("", low, node))
                continue
            members.append(Member(key.value, low, self.node(value, key.end_mark.index, high)))
        return tuple(members)

    def _items(self, source: yaml.SequenceNode, end: int) -> tuple[Node, ...]:
        # The position of an item that is an alias follows from its neighbours.
        low = source.start_mark.index
        items = []
        starts = [item.start_mark.index for item in source.value[1:]] + [end]
        for item, after in zip(source.value, starts, strict=False):
            items.append(self.node(item, low, after if low < after <= end else end))
            low = items[-1].end
        return tuple(items)

    def _scalar(self, source: yaml.Node, uneditable: str) -> Node:
        start, end = source.start_mark.index, source.end_mark.index
        end = start + len(self._text[start:end].rstrip())
        if "\n" in self._text[start:end]:
            uneditable = uneditable or _FOLDED
        scalar = source.value if source.tag == _TEXT else RawValue(self._text[start:end])
        return Node(start, end, scalar, uneditable=uneditable)

    def _has_link(self, low: int, high: int) -> bool:
        at = bisect_left(self._links, low)
        return at < len(self._links) and self._links[at] < high
