"""Globs: `*` stays within `/`, `**` crosses it, `?` is one character; all else is literal.

A `**` that is a whole path segment also stands for no segment: `a/**/b` is `a/b`,
`**/.env` is `.env`, `/etc/**` is `/etc`. A glob covers the whole text; case counts.
"""

import re
from collections.abc import Callable

_WILD = re.compile(r"\*\*|\*|\?")
_REPEATED = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+(?=\*\*(?:/|$))")
_TOKENS = re.compile(r"(?:(?<=/)|^)(?:\*\*/)+|/\*\*$|\*{2,}|\*|\?|[^*?/]+|/")

Test = Callable[[str], bool]


def matches(pattern: str, text: str) -> bool:
    """Tell whether the glob covers the whole text."""
    return matcher(pattern)(text)


def literal_prefix(pattern: str) -> str:
    """Return what every text that matches begins with."""
    found = re.search(r"[*?]", pattern)
    if found is None:
        return pattern
    prefix = pattern[: found.start()]
    # `/etc/**` also covers `/etc`, and only there may a slash be missing.
    return prefix.removesuffix("/") if pattern[found.start() :] in _EMPTY_TAILS else prefix


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


def matcher(pattern: str) -> Test:
    """Return the test for one glob; the usual shapes need no regular expression."""
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
    return _compiled(pattern)


def _anything(_text: str) -> bool:
    return True


def _below(head: str) -> Test:
    folder = head[:-1]
    return lambda text: text.startswith(head) or text == folder


def _begins(head: str) -> Test:
    return lambda text: text.startswith(head)


def _compiled(pattern: str) -> Test:
    found = re.compile(regex(pattern), re.DOTALL).fullmatch
    return lambda text: found(text) is not None


_EMPTY_TAILS = {"**", "**/**"}
