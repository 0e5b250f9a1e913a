"""Replacement of characters by a rule, for every script, without a table of Unicode."""

from collections.abc import Callable

# Bounds the table, should texts come in every script there is.
_LARGEST_TABLE = 20_000


class Replacements(dict[int, str]):
    """A table for `str.translate` that a rule fills when a character is first seen."""

    def __init__(self, rule: Callable[[str], str]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str:
        replacement = self._rule(chr(code))
        if len(self) < _LARGEST_TABLE:
            self[code] = replacement
        return replacement
