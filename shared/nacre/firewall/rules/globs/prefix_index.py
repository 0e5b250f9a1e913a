"""Finding the globs that may match a text by what they begin with."""

from collections.abc import Iterable, Sequence

from nacre.firewall.rules.globs.glob import is_literal, literal_prefix

_MOST_LENGTHS = 16  # prefixes of more lengths are cut to one of these: lookups stay few


class PrefixIndex:
    """Places of rules under the beginnings of their globs, and under whole texts."""

    def __init__(self, entries: Sequence[tuple[int, Iterable[str]]]) -> None:
        begun: list[tuple[int, str]] = []
        self._whole: dict[str, set[int]] = {}
        for place, patterns in entries:
            for pattern in patterns:
                if is_literal(pattern):
                    self._whole.setdefault(pattern, set()).add(place)
                else:
                    begun.append((place, literal_prefix(pattern)))
        self._lengths = _chosen(sorted({len(prefix) for _, prefix in begun}))
        self._begun: dict[str, set[int]] = {}
        for place, prefix in begun:
            length = max(each for each in self._lengths if each <= len(prefix))
            self._begun.setdefault(prefix[:length], set()).add(place)

    def find(self, texts: Iterable[str]) -> set[int]:
        """Return the places whose globs may match one of the texts."""
        found: set[int] = set()
        for text in texts:
            hits = self._whole.get(text)
            if hits is not None:
                found |= hits
            for length in self._lengths:
                if length > len(text):
                    break
                hits = self._begun.get(text[:length])
                if hits is not None:
                    found |= hits
        return found


def _chosen(lengths: list[int]) -> list[int]:
    if len(lengths) <= _MOST_LENGTHS:
        return lengths
    step = len(lengths) / _MOST_LENGTHS
    return sorted({lengths[int(number * step)] for number in range(_MOST_LENGTHS)})
