"""Regular expressions of a policy's owner: refused if a text could make them slow.

Python's matcher tries every way to fit a pattern. A pattern is accepted if it has few ways from
one place: no repeat inside a repeat, no references, and only short repeats that can end in
several places.
"""

import re
import warnings
from collections.abc import Iterable, Iterator
from re import _parser  # type: ignore[attr-defined]  # the parse tree has no other name
from time import thread_time
from typing import Any

from nacre.core.limits import (
    OWN_PATTERN_CHARS,
    OWN_PATTERN_OVERLAP,
    OWN_PATTERN_SECONDS,
    OWN_PATTERN_WAYS,
    OWN_PATTERN_WINDOW,
)
from nacre.firewall.rules.sections import NamedPattern

_REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}
_GROUPS = {"SUBPATTERN", "ATOMIC_GROUP"}
_REFUSED = {
    "GROUPREF": "refers back to a group",
    "GROUPREF_EXISTS": "depends on a group",
    "ASSERT": "looks around",
    "ASSERT_NOT": "looks around",
}
# Enough characters to tell two classes apart: all of ASCII and some beyond.
_SAMPLE = [*map(chr, range(128)), "\u00a0", "\u00e9", "\u0416", "\u2028", "\u4e2d", "\U0001f600"]


def check_pattern(text: str) -> str | None:
    """Return the problem with a pattern, or None if it may be used."""
    if len(text) > OWN_PATTERN_CHARS:
        return f"is longer than {OWN_PATTERN_CHARS} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compiled = re.compile(text)
            tree = _parser.parse(text)
    except (re.error, RecursionError, OverflowError, Warning) as error:
        return f"is not a regular expression: {error}"
    if compiled.search("") is not None:
        return "matches every text: it matches the empty one"
    try:
        ways = _ways(list(tree), compiled.flags, inside=False)
    except _SlowError as error:
        return f"{error}, which some text can make very slow"
    if ways > OWN_PATTERN_WAYS:
        return "has repeats that can share a text in too many ways; bound them, as in [a-z]{1,20}"
    return None


class _SlowError(Exception):
    """A construct whose cost grows without bound."""


def _ways(items: list[Any], flags: int, *, inside: bool) -> int:
    """Return how many ways there are to try this sequence from one place."""
    ways = 1
    for place, (code, value) in enumerate(items):
        name = str(code)
        if name in _REFUSED:
            raise _SlowError(_REFUSED[name])
        if name in _REPEATS:
            ways *= _repeated(value, items[place + 1 :], flags, inside=inside)
        elif name == "BRANCH":
            ways *= sum(_ways(list(branch), flags, inside=inside) for branch in value[1])
        elif name in _GROUPS:
            ways *= _ways(_body(name, value), flags, inside=inside)
        ways = min(ways, 10 * OWN_PATTERN_WAYS)
    return ways


def _repeated(value: Any, after: list[Any], flags: int, *, inside: bool) -> int:
    least, most, body = int(value[0]), min(int(value[1]), OWN_PATTERN_WINDOW), list(value[2])
    if most <= 1:
        return 1 + _ways(body, flags, inside=inside)
    if inside:
        raise _SlowError("has a repeat inside a repeat")
    low, high = _width(body)
    if low != high or low == 0:
        raise _SlowError("repeats something of changing length")
    if _ways(body, flags, inside=True) > 1:
        raise _SlowError("repeats alternatives")
    return 1 if _ends_in_one_place(body, after, flags) else max(0, most - least) + 1


def _body(name: str, value: Any) -> list[Any]:
    return list(value[3] if name == "SUBPATTERN" else value)


def _width(items: list[Any]) -> tuple[int, int]:
    low = high = 0
    for code, value in items:
        name = str(code)
        if name in _REPEATS:
            inner = _width(list(value[2]))
            least, most = int(value[0]), min(int(value[1]), OWN_PATTERN_WINDOW)
            low, high = low + least * inner[0], high + most * inner[1]
        elif name == "BRANCH":
            widths = [_width(list(branch)) for branch in value[1]]
            low += min(part[0] for part in widths)
            high += max(part[1] for part in widths)
        elif name in _GROUPS:
            inner = _width(_body(name, value))
            low, high = low + inner[0], high + inner[1]
        elif name != "AT":
            low, high = low + 1, high + 1
    return low, high


def _ends_in_one_place(body: list[Any], after: list[Any], flags: int) -> bool:
    """Tell whether the next item cannot begin with the repeated one."""
    if len(body) != 1 or not after:
        return False
    mine, next_ = _characters(body[0], flags), _characters(after[0], flags)
    return mine is not None and next_ is not None and not mine & next_


def _characters(item: Any, flags: int) -> frozenset[str] | None:
    """Return the sample characters that a one-character item matches; None for other items."""
    name = str(item[0])
    if name in _REPEATS:
        return _characters(item[1][2][0], flags) if item[1][0] > 0 else None
    if name == "SUBPATTERN":
        return _characters(item[1][3][0], flags) if len(item[1][3]) else None
    if name == "LITERAL":
        letter = chr(item[1])
        return frozenset((letter, letter.lower(), letter.upper()))
    if name in ("IN", "NOT_LITERAL", "ANY"):
        tree = _parser.SubPattern(_parser.State(), [item])
        tree.state.flags = flags
        single = re._compiler.compile(tree)  # type: ignore[attr-defined]
        return frozenset(sample for sample in _SAMPLE if single.fullmatch(sample))
    return None


def own_matches(
    text: str, patterns: Iterable[NamedPattern]
) -> Iterator[tuple[str, tuple[int, int]] | None]:
    """Yield the name and span of each match; yield None at the time limit for one text."""
    ends = thread_time() + OWN_PATTERN_SECONDS
    step = OWN_PATTERN_WINDOW - OWN_PATTERN_OVERLAP
    for pattern in patterns:
        compiled = pattern.compiled()
        last = -1
        for begin in range(0, max(len(text) - OWN_PATTERN_OVERLAP, 1), step):
            if thread_time() > ends:
                yield None
                return
            window = text[begin : begin + OWN_PATTERN_WINDOW]
            for match in compiled.finditer(window):
                span = (begin + match.start(), begin + match.end())
                if span[1] > span[0] and span[1] > last:
                    last = span[1]
                    yield pattern.name, span
