"""Sets of texts, as globs describe them: what two have in common, and what one leaves out."""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol

from nacre.firewall.rules.globs.automaton import Automaton
from nacre.firewall.rules.globs.matching import matches

_MOST_STATES = 10_000
_OTHERS = "xyzkw0123456789"  # to stand for any character that no glob names

State = tuple[int, ...]


class TooManyStatesError(Exception):
    """The globs together are too intricate to say anything about all texts."""


class TextSet(Protocol):
    """A set of texts that is read letter by letter."""

    letters: frozenset[str]
    start: Any

    def step(self, state: Any, character: str, /) -> Any:
        """Return the state after one more character."""
        ...

    def accepts(self, state: Any, /) -> bool:
        """Tell whether a text that led here is one of the set."""
        ...

    def is_alive(self, state: Any, /) -> bool:
        """Tell whether more characters could still lead into the set."""
        ...


class Language:
    """The texts that at least one of some globs covers."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._globs = [Automaton(pattern) for pattern in dict.fromkeys(patterns)]
        self.letters = frozenset(letter for glob in self._globs for letter in glob.letters)
        self.start: State = tuple(glob.start for glob in self._globs)

    def step(self, state: State, character: str) -> State:
        """Return the state after one more character."""
        return tuple(
            [
                glob.step(each, character) if each else 0
                for glob, each in zip(self._globs, state, strict=True)
            ]
        )

    def accepts(self, state: State) -> bool:
        """Tell whether a text that led here is one of the set."""
        return any(glob.accepts(each) for glob, each in zip(self._globs, state, strict=True))

    def is_alive(self, state: State) -> bool:
        """Tell whether more characters could still lead into the set."""
        return any(state)


def memberships(
    inside: Sequence[TextSet], marks: Sequence[TextSet], *, shortest: int = 0
) -> dict[int, str]:
    """Return, for texts that are in all of `inside`, in which of `marks` they can be.

    Each is a number with one bit for each mark, with a text that shows it.
    """
    every = [*inside, *marks]
    letters = sorted({letter for each in every for letter in each.letters})
    letters.append(next((each for each in _OTHERS if each not in letters), "\ue000"))
    start = (tuple(each.start for each in every), shortest <= 0)
    texts = {start: ""}
    waiting = deque([start])
    found: dict[int, str] = {}
    while waiting:
        here = waiting.popleft()
        states, is_long_enough = here
        text = texts[here]
        if is_long_enough and all(
            each.accepts(state) for each, state in zip(inside, states, strict=False)
        ):
            mask = 0
            for place, each in enumerate(marks):
                mask |= each.accepts(states[len(inside) + place]) << place
            found.setdefault(mask, text)
            if len(found) == 1 << len(marks):
                break
        for letter in letters:
            following = _following(inside, marks, states, letter)
            if following is None:
                continue
            there = (following, len(text) + 1 >= shortest)
            if there not in texts:
                if len(texts) >= _MOST_STATES:
                    raise TooManyStatesError
                texts[there] = text + letter
                waiting.append(there)
    return found


def _following(
    inside: Sequence[TextSet], marks: Sequence[TextSet], states: tuple[Any, ...], letter: str
) -> tuple[Any, ...] | None:
    """Return the states after one more character, or None where no text can come of it."""
    following: list[Any] = []
    for each, state in zip(inside, states, strict=False):
        after = each.step(state, letter)
        if not each.is_alive(after):
            return None
        following.append(after)
    for each, state in zip(marks, states[len(inside) :], strict=True):
        following.append(each.step(state, letter))
    return tuple(following)


def covers(wide: Iterable[str], narrow: Iterable[str]) -> bool:
    """Tell whether every text of the narrow globs is one of the wide ones'."""
    wide, narrow = frozenset(wide), frozenset(narrow)
    if narrow <= wide:
        return True
    for each in narrow:  # one text that is missing says no, and of most pairs one is
        text = _example(each)
        if text is not None and not any(matches(glob, text) for glob in wide):
            return False
    try:
        return 0 not in memberships([Language(narrow)], [Language(wide)])
    except TooManyStatesError:
        return False


@lru_cache(maxsize=4096)
def _example(pattern: str) -> str | None:
    """Return a text that the glob covers, where a short one is at hand."""
    text = pattern.replace("*", "").replace("?", "x")
    return text if matches(pattern, text) else None


def overlap(first: Iterable[str], second: Iterable[str]) -> bool:
    """Tell whether the globs have a text in common."""
    try:
        return bool(memberships([Language(first), Language(second)], []))
    except TooManyStatesError:
        return True
