"""Sets of texts that globs describe: whether one covers another, or two overlap."""

from collections import deque
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol

from nacre.firewall.rules.globs.matching import Automaton, matches

_MAX_STATES = 10_000
_OTHERS = "xyzkw0123456789"  # one of these stands for any character that no glob names

State = tuple[int, ...]


class TooManyStatesError(Exception):
    """The globs together have too many states to decide about all texts."""


class TextSet(Protocol):
    """A set of texts as an automaton."""

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
                glob.step(part, character) if part else 0
                for glob, part in zip(self._globs, state, strict=True)
            ]
        )

    def accepts(self, state: State) -> bool:
        """Tell whether a text that led here is one of the set."""
        return any(glob.accepts(part) for glob, part in zip(self._globs, state, strict=True))

    def is_alive(self, state: State) -> bool:
        """Tell whether more characters could still lead into the set."""
        return any(state)


def memberships(
    inside: Sequence[TextSet], marks: Sequence[TextSet], *, shortest: int = 0
) -> dict[int, str]:
    """Return the combinations of `marks` that a text in all of `inside` can be in.

    Each combination is a number with one bit for each mark, and comes with an example text.
    """
    sets = [*inside, *marks]
    letters = sorted({letter for texts in sets for letter in texts.letters})
    letters.append(next((letter for letter in _OTHERS if letter not in letters), "\ue000"))
    start = (tuple(texts.start for texts in sets), shortest <= 0)
    examples = {start: ""}
    waiting = deque([start])
    combinations: dict[int, str] = {}
    while waiting:
        here = waiting.popleft()
        states, is_long_enough = here
        text = examples[here]
        if is_long_enough and all(
            texts.accepts(state) for texts, state in zip(inside, states, strict=False)
        ):
            mask = 0
            for bit, mark in enumerate(marks):
                mask |= mark.accepts(states[len(inside) + bit]) << bit
            combinations.setdefault(mask, text)
            if len(combinations) == 1 << len(marks):
                break
        for letter in letters:
            following = _following(inside, marks, states, letter)
            if following is None:
                continue
            there = (following, len(text) + 1 >= shortest)
            if there not in examples:
                if len(examples) >= _MAX_STATES:
                    raise TooManyStatesError
                examples[there] = text + letter
                waiting.append(there)
    return combinations


def _following(
    inside: Sequence[TextSet], marks: Sequence[TextSet], states: tuple[Any, ...], letter: str
) -> tuple[Any, ...] | None:
    """Return the states after one more character, or None if no text can follow."""
    following: list[Any] = []
    for texts, state in zip(inside, states, strict=False):
        after = texts.step(state, letter)
        if not texts.is_alive(after):
            return None
        following.append(after)
    for mark, state in zip(marks, states[len(inside) :], strict=True):
        following.append(mark.step(state, letter))
    return tuple(following)


def covers(wide: Iterable[str], narrow: Iterable[str]) -> bool:
    """Tell whether the wide globs cover every text of the narrow ones."""
    wide, narrow = frozenset(wide), frozenset(narrow)
    if narrow <= wide:
        return True
    for glob in narrow:  # a shortcut: for most pairs that fail, an example shows it
        text = _example(glob)
        if text is not None and not any(matches(pattern, text) for pattern in wide):
            return False
    try:
        return 0 not in memberships([Language(narrow)], [Language(wide)])
    except TooManyStatesError:
        return False


@lru_cache(maxsize=4096)
def _example(pattern: str) -> str | None:
    """Return a short text that the glob covers, or None."""
    text = pattern.replace("*", "").replace("?", "x")
    return text if matches(pattern, text) else None


def overlap(first: Iterable[str], second: Iterable[str]) -> bool:
    """Tell whether the globs have a text in common."""
    try:
        return bool(memberships([Language(first), Language(second)], []))
    except TooManyStatesError:
        return True
