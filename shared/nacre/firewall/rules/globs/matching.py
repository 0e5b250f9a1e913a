"""Matching a text with a glob, in a time that no text can stretch."""

import re
from collections.abc import Callable
from functools import lru_cache

from nacre.firewall.rules.globs.automaton import Automaton
from nacre.firewall.rules.globs.glob import Test, regex, simple

# A regular expression with several wildcards tries about this power of the text's length.
_MOST_TRIES = 1_000_000


def matches(pattern: str, text: str) -> bool:
    """Tell whether the glob covers the whole text."""
    return matcher(pattern)(text)


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Test:
    """Return the test for one glob. What it costs to build is paid at its first text."""
    return simple(pattern) or _Expression(pattern).covers


class _Expression:
    """A glob as a regular expression, and as an automaton where that might take long."""

    __slots__ = ("_automaton", "_fullmatch", "_longest", "_pattern")

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._fullmatch: Callable[[str], re.Match[str] | None] | None = None
        self._automaton: Automaton | None = None
        wildcards = len(re.findall(r"\*+", pattern))
        self._longest = int(_MOST_TRIES ** (1 / wildcards)) if wildcards > 1 else None

    def covers(self, text: str) -> bool:
        if self._longest is not None and len(text) > self._longest:
            if self._automaton is None:
                self._automaton = Automaton(self._pattern)
            return self._automaton.covers(text)
        if self._fullmatch is None:
            self._fullmatch = re.compile(regex(self._pattern), re.DOTALL).fullmatch
        return self._fullmatch(text) is not None
