"""Globs: `*` stays within `/`, `**` crosses it, `?` is one character; all else is literal.

A `**` that is a whole path segment also stands for no segment: `a/**/b` is `a/b`,
`**/.env` is `.env`, `/etc/**` is `/etc`. A glob covers the whole text; case counts.
"""

import re
from collections.abc import Callable
from itertools import takewhile

_WILD = re.compile(r"\*\*|\*|\?")
_REPEATED = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+(?=\*\*(?:/|$))")
_TOKENS = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+|/\*\*$|\*{2,}|\*|\?|[^*?/]+|/")

Test = Callable[[str], bool]


def literal_prefix(pattern: str) -> str:
    """Return what every text that matches begins with."""
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
    found = _TOKENS.findall(_REPEATED.sub("", pattern))
    if found == ["/**"]:
        return ["/", "**"]  # the root has no name that could stand without its slash
    return [
        "**/" if token.endswith("**/") else "**" if token.startswith("***") else token
        for token in found
    ]


def simple(pattern: str) -> Test | None:
    """Return the test for a glob that needs no regular expression, else None."""
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
