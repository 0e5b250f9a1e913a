"""YAML with places, as far as clients write it.

PyYAML reads it and says where everything stands. An entry with an anchor, an alias or a tag
is left alone: a change of it would show in other places too.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

import yaml

from nacre.core.errors import ConfigurationError
from nacre.core.limits import MAX_CONFIG_DEPTH
from nacre.firewall.wrap.config_tree import (
    Edit,
    Literal,
    Member,
    Node,
    Paths,
    Value,
    beginning_with,
    line_start,
    newline_of,
)
from nacre.firewall.wrap.json_tree import one_line, quoted

_LINKED = "an anchor, an alias or a tag stands in it; write the values out"
_FOLDED = "a text in it stands on several lines; write it in one, between quotes"
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w-]*")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_TEXT = "tag:yaml.org,2002:str"
_OPENING = (
    *(yaml.BlockMappingStartToken, yaml.BlockSequenceStartToken),
    *(yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken),
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
_DASH = re.compile(r"( *)- +")


class Yaml:
    """The dialect of clients that write YAML."""

    def parse(self, text: str, containers: Paths = ()) -> Node:
        """Return the tree; ConfigurationError says in which line the text is wrong."""
        del containers
        try:
            links = _links(text)
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise ConfigurationError(f"line {line}: this is no YAML") from None
        except (yaml.YAMLError, ValueError, OverflowError):  # the last two: of no character
            raise ConfigurationError("the file is no YAML") from None
        except RecursionError:
            raise ConfigurationError("values are nested too deep") from None
        if root is None:
            return Node(0, 0, Literal(""))
        return _Builder(text, links).node(root, root.start_mark.index, len(text))

    def scalar(self, node: Node, value: str) -> Edit:
        """Return the edit that puts a text in the place of a value."""
        return node.start, node.end, quoted(value)

    def beginning(self, text: str, node: Node, dropped: int, added: Sequence[str]) -> Edit:
        """Return the edit that puts texts in the place of a list's first items; one is left."""
        between = ", "
        if node.is_block and node.items:
            first = node.items[0].start
            dash = _DASH.fullmatch(text[line_start(text, first) : first])
            if dash is None:
                raise ConfigurationError("the list begins in the line of something else")
            between = f"{newline_of(text)}{dash[1]}- "
        return beginning_with(node, dropped, [quoted(each) for each in added], between)

    def member(self, text: str, after: Member, parent: Node, key: str, value: Value) -> Edit:
        """Return the edit that adds a member after another one."""
        between = ", "
        if parent.is_block:
            column = after.start - line_start(text, after.start)
            between = newline_of(text) + " " * column
        end = after.node.end
        return end, end, f"{between}{_key(key)}: {one_line(value)}"

    def whole(self, text: str, node: Node, value: Mapping[str, Value]) -> Edit:
        """Return the edit that writes a map anew."""
        if not node.is_block:
            return node.start, node.end, one_line(dict(value))
        column = node.start - line_start(text, node.start)
        lines = _lines(value, column)
        return node.start, node.end, newline_of(text).join(lines).lstrip(" ")

    def extent(self, text: str, node: Node) -> tuple[int, int]:
        """Return from where to where all of a map stands."""
        del text
        return node.start, node.end


def _links(text: str) -> list[int]:
    """Return where anchors, aliases and tags stand; ConfigurationError for too deep a text."""
    links, depth = [], 0
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
            links.append(token.start_mark.index)
        elif isinstance(token, _OPENING):
            depth += 1
        elif isinstance(token, _CLOSING):
            depth -= 1
        # PyYAML looks at every open bracket again at each one that follows.
        if depth > MAX_CONFIG_DEPTH:
            raise ConfigurationError("values are nested too deep")
    return links


class _Builder:
    """Turns PyYAML's tree into ours."""

    def __init__(self, text: str, links: Sequence[int]) -> None:
        self._text = text
        self._links = links

    def node(self, found: yaml.Node, low: int, high: int) -> Node:
        """Return a node that stands between two places."""
        start, end = found.start_mark.index, found.end_mark.index
        if not low <= start <= end <= high:  # where the anchor of an alias stands
            return Node(low, low, fixed=_LINKED)
        # An anchor and a tag begin their node, and an alias stands within the one that has it.
        fixed = _LINKED if self._has_link(start, end) else ""
        match found:
            case yaml.MappingNode():
                members = self._members(found, end)
                last = members[-1].node.end if members and not found.flow_style else end
                return Node(
                    start, last, members=members, is_block=not found.flow_style, fixed=fixed
                )
            case yaml.SequenceNode():
                items = self._items(found, end)
                last = items[-1].end if items and not found.flow_style else end
                return Node(start, last, items=items, is_block=not found.flow_style, fixed=fixed)
            case _:
                return self._scalar(found, fixed)

    def _members(self, found: yaml.MappingNode, end: int) -> tuple[Member, ...]:
        members = []
        after = [key.start_mark.index for key, _ in found.value[1:]] + [end]
        for (key, value), high in zip(found.value, after, strict=False):
            low = key.start_mark.index
            if not isinstance(key, yaml.ScalarNode) or not found.start_mark.index <= low <= high:
                node = Node(low, low, fixed=_LINKED)
                members.append(Member("", low, node))
                continue
            members.append(Member(key.value, low, self.node(value, key.end_mark.index, high)))
        return tuple(members)

    def _items(self, found: yaml.SequenceNode, end: int) -> tuple[Node, ...]:
        # An alias as an item has no place of its own: its neighbours' places say which.
        low = found.start_mark.index
        items = []
        starts = [each.start_mark.index for each in found.value[1:]] + [end]
        for each, after in zip(found.value, starts, strict=False):
            items.append(self.node(each, low, after if low < after <= end else end))
            low = items[-1].end
        return tuple(items)

    def _scalar(self, found: yaml.Node, fixed: str) -> Node:
        start, end = found.start_mark.index, found.end_mark.index
        end = start + len(self._text[start:end].rstrip())
        if "\n" in self._text[start:end]:
            fixed = fixed or _FOLDED
        scalar = found.value if found.tag == _TEXT else Literal(self._text[start:end])
        return Node(start, end, scalar, fixed=fixed)

    def _has_link(self, low: int, high: int) -> bool:
        at = bisect_left(self._links, low)
        return at < len(self._links) and self._links[at] < high


def _key(key: str) -> str:
    is_plain = _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS
    return key if is_plain else quoted(key)


def _lines(value: Mapping[str, Value], column: int) -> list[str]:
    lines = []
    for key, each in value.items():
        if isinstance(each, dict) and each:
            lines.append(f"{' ' * column}{_key(key)}:")
            lines += _lines(each, column + 2)
        else:
            # A key without a value means null.
            shown = one_line(each) or "null"
            lines.append(f"{' ' * column}{_key(key)}: {shown}")
    return lines
