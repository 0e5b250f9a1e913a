"""What each character of a text becomes, for every script, without a table of Unicode."""

from collections.abc import Callable

# A text in every script there is must not fill the memory.
_REMEMBERED = 20_000


class Replacements(dict[int, str]):
    """A table for str.translate whose entries a rule works out when they are first met."""

    def __init__(self, rule: Callable[[str], str]) -> None:
        super().__init__()
        self._rule = rule

    def __missing__(self, code: int) -> str:
        replacement = self._rule(chr(code))
        if len(self) < _REMEMBERED:
            self[code] = replacement
        return replacement
