"""Globs about absolute paths, held against relative ones whose parent nobody knows."""

import re
from functools import lru_cache

from nacre.firewall.rules.globs.automaton import Automaton
from nacre.firewall.rules.globs.pattern_forms import is_about_paths

_LONGEST_PATH = 4096  # no system opens a longer one
_NAMED = re.compile(r"[^*?/]+")


class Below:
    """One glob; its automaton is built for the first text that needs it."""

    __slots__ = ("_automaton", "_is_open", "_last_name", "_pattern")

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        names = _NAMED.findall(pattern)
        self._last_name = names[-1] if names else ""
        self._is_open = pattern.endswith("/**")
        self._automaton: Automaton | None = None

    def covers(self, text: str) -> bool:
        """Tell whether the glob covers `PARENT/text` for some parent."""
        return len(text) <= _LONGEST_PATH and (self._is_open or self._run(text)[0])

    def names(self, text: str) -> bool:
        """Tell whether it does, and the text itself holds something that the glob names.

        So `.ssh/id_rsa` falls under `/home/*/.ssh/**`, and `hello` does not.
        """
        # What follows the first named character is in the text: the last name is whole there.
        if not self._last_name or self._last_name not in text or len(text) > _LONGEST_PATH:
            return False
        return self._run(text)[1]

    def _run(self, text: str) -> tuple[bool, bool]:
        if self._automaton is None:
            self._automaton = Automaton(self._pattern)
        return self._automaton.covers_below(text)


@lru_cache(maxsize=4096)
def below(form: str) -> Below | None:
    """Return the glob as one about any parent, None where it is not about absolute paths."""
    return Below(form) if is_about_paths(form) else None
