"""Globs: `*` stops at `/`, `**` crosses it, `?` is one character, all else is literal.

A `**` that is a whole path segment may also match nothing: `a/**/b` matches `a/b`, `**/.env`
matches `.env`, and `/etc/**` matches `/etc`. A glob must match the whole text, in the same case.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

_WILD = re.compile(r"\*\*|\*|\?")
_REPEATED = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+(?=\*\*(?:/|$))")
_TOKENS = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+|/\*\*$|\*{2,}|\*|\?|[^*?/]+|/")

_MAX_LENGTHS = 16  # of indexed prefixes; each length costs one lookup

Test = Callable[[str], bool]


def literal_prefix(pattern: str) -> str:
    """Return the literal text before the first wildcard."""
    return "".join(takewhile(is_literal, tokens(pattern)))


def is_literal(pattern: str) -> bool:
    """Tell whether the pattern has no wildcard."""
    return "*" not in pattern and "?" not in pattern


def regex(pattern: str) -> str:
    """Return the glob as a regular expression for `fullmatch`."""
    parts: list[str] = []
    for part in tokens(pattern):
        if part == "**/":
            parts.append("(?:.*/)?")
        elif part == "/**":
            parts.append("(?:/.*)?")
        elif part == "**":
            parts.append(".*")
        elif part == "*":
            parts.append("[^/]*")
        elif part == "?":
            parts.append(".")
        else:
            parts.append(re.escape(part))
    return "".join(parts)


def tokens(pattern: str) -> list[str]:
    """Split a glob into literals, `/`, `*`, `?`, `**`, and the two that may be empty.

    Those are `**/` at the start of a segment and `/**` at the end of the pattern.
    """
    parts = _TOKENS.findall(_REPEATED.sub("", pattern))
    if parts == ["/**"]:
        return ["/", "**"]  # the root is `/` itself, so its slash is not optional
    return [
        "**/" if token.endswith("**/") else "**" if token.startswith("***") else token
        for token in parts
    ]


def simple(pattern: str) -> Test | None:
    """Return a fast test for the glob, or None if it needs a regular expression."""
    wild = _WILD.search(pattern)
    if wild is None:
        return pattern.__eq__
    head, tail = pattern[: wild.start()], pattern[wild.start() :]
    if tail == "**":
        if not head:
            return _anything
        if head.endswith("/") and head != "/":
            return _below(head)
        return _begins(head)
    return None


def _anything(_text: str) -> bool:
    return True


def _below(head: str) -> Test:
    folder = head[:-1]
    return lambda text: text.startswith(head) or text == folder


def _begins(head: str) -> Test:
    return lambda text: text.startswith(head)


class PrefixIndex:
    """Finds globs that may match a text, by their literal prefixes."""

    def __init__(self, entries: Sequence[tuple[int, Iterable[str]]]) -> None:
        prefixes: list[tuple[int, str]] = []
        self._by_text: dict[str, set[int]] = {}
        for position, patterns in entries:
            for pattern in patterns:
                if is_literal(pattern):
                    self._by_text.setdefault(pattern, set()).add(position)
                else:
                    prefixes.append((position, literal_prefix(pattern)))
        self._lengths = _selected(sorted({len(prefix) for _, prefix in prefixes}))
        self._by_prefix: dict[str, set[int]] = {}
        for position, prefix in prefixes:
            length = max(size for size in self._lengths if size <= len(prefix))
            self._by_prefix.setdefault(prefix[:length], set()).add(position)

    def find(self, texts: Iterable[str]) -> set[int]:
        """Return the positions of the globs that may match one of the texts."""
        positions: set[int] = set()
        for text in texts:
            hits = self._by_text.get(text)
            if hits is not None:
                positions |= hits
            for length in self._lengths:
                if length > len(text):
                    break
                hits = self._by_prefix.get(text[:length])
                if hits is not None:
                    positions |= hits
        return positions


def _selected(lengths: list[int]) -> list[int]:
    if len(lengths) <= _MAX_LENGTHS:
        return lengths
    step = len(lengths) / _MAX_LENGTHS
    return sorted({lengths[int(number * step)] for number in range(_MAX_LENGTHS)})
