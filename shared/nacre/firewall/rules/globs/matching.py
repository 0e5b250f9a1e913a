"""Matching a text with a glob, in bounded time for any text, and the automaton behind it."""

import re
from collections.abc import Callable
from functools import lru_cache

from nacre.core.bounded_cache import BoundedCache
from nacre.firewall.rules.globs.glob import Test, regex, simple, tokens

# With n wildcards a regular expression may try about length**n ways to match a text.
_MAX_TRIES = 1_000_000
_MAX_KNOWN_STEPS = 20_000  # a glob of a policy has a few hundred


def matches(pattern: str, text: str) -> bool:
    """Tell whether the glob covers the whole text."""
    return matcher(pattern)(text)


@lru_cache(maxsize=4096)
def matcher(pattern: str) -> Test:
    """Return the test for one glob, cached. It is built when it gets its first text."""
    return simple(pattern) or _Expression(pattern).covers


class _Expression:
    """A glob as a regular expression, or as an automaton for texts that could take long."""

    __slots__ = ("_automaton", "_fullmatch", "_longest", "_pattern")

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._fullmatch: Callable[[str], re.Match[str] | None] | None = None
        self._automaton: Automaton | None = None
        wildcards = len(re.findall(r"\*+", pattern))
        self._longest = int(_MAX_TRIES ** (1 / wildcards)) if wildcards > 1 else None

    def covers(self, text: str) -> bool:
        if self._longest is not None and len(text) > self._longest:
            if self._automaton is None:
                self._automaton = Automaton(self._pattern)
            return self._automaton.covers(text)
        if self._fullmatch is None:
            self._fullmatch = re.compile(regex(self._pattern), re.DOTALL).fullmatch
        return self._fullmatch(text) is not None


class Automaton:
    """The states of one glob. A state is a set of positions in the glob, as bits.

    All characters that the glob does not name behave alike; `""` stands for them.
    """

    def __init__(self, pattern: str) -> None:
        self._moves: list[tuple[str | None, int]] = []
        self._stays: list[str | None] = []  # "any", "segment" or None, for each position
        self._skips: list[tuple[int, ...]] = []
        for token in tokens(pattern):
            self._add(token)
        self.end = 1 << len(self._moves)
        self.letters = frozenset(letter for letter, _ in self._moves if letter) | {"/"}
        self._named = re.compile("[" + "".join(map(re.escape, sorted(self.letters))) + "]")
        self.start = self._closed({0})
        self._known: BoundedCache[tuple[int, str], int] = BoundedCache(_MAX_KNOWN_STEPS)
        self._known_named: BoundedCache[tuple[int, str], int] = BoundedCache(_MAX_KNOWN_STEPS)
        self._below: int | None = None

    def covers(self, text: str) -> bool:
        """Tell whether the glob covers the whole text."""
        state, position = self.start, 0
        while position < len(text):
            character = text[position]
            if character not in self.letters and self.step(state, character) == state:
                # Nothing changes before the next character that the glob names, so most of a
                # long text can be skipped.
                match = self._named.search(text, position)
                if match is None:
                    break
                position = match.start()
                character = match.group()
            state = self.step(state, character)
            if not state:
                return False
            position += 1
        return self.accepts(state)

    def covers_below(self, text: str) -> tuple[bool, bool]:
        """Tell whether the glob covers `PARENT/text` for some parent.

        The second result is stricter: the text itself must contain a character that the
        glob names, so the glob's wildcards alone do not cover it.
        """
        state, named = self.after_any_parent, 0
        for character in text:
            state, named = self.step_below((state, named), character)
            if not state:
                return False, False
        return self.accepts(state), self.accepts(named)

    @property
    def after_any_parent(self) -> int:
        """The state after any text that is empty or ends in `/`."""
        if self._below is None:
            self._below = self._find_after_any_parent()
        return self._below

    def step_below(self, states: tuple[int, int], character: str) -> tuple[int, int]:
        """Return both states of `covers_below` after one more character."""
        state, named = states
        named = self.step(named, character) | self._named_step(state, character)
        return self.step(state, character), named

    def accepts(self, state: int) -> bool:
        """Tell whether the glob covers a text that led to this state."""
        return bool(state & self.end)

    def step(self, state: int, character: str) -> int:
        """Return the state after one more character; 0 if no longer text can match."""
        letter = character if character in self.letters else ""
        following = self._known.get((state, letter))
        if following is None:
            following = self._known[state, letter] = self._find_step(state, letter)
        return following

    def _find_step(self, state: int, letter: str) -> int:
        reached: set[int] = set()
        for position, (expected, target) in enumerate(self._moves):
            if not state >> position & 1:
                continue
            if target >= 0 and expected in (None, letter):
                reached.add(target)
            stays = self._stays[position]
            if stays == "any" or (stays == "segment" and letter != "/"):
                reached.add(position)
        return self._closed(reached)

    def _named_step(self, state: int, character: str) -> int:
        """Return the state after a character that the glob names at this position."""
        if character == "/" or character not in self.letters or not state:
            return 0
        following = self._known_named.get((state, character))
        if following is None:
            following = self._known_named[state, character] = self._closed(
                {
                    target
                    for position, (expected, target) in enumerate(self._moves)
                    if state >> position & 1 and expected == character
                }
            )
        return following

    def _find_after_any_parent(self) -> int:
        letters = (*self.letters, "")
        visited: set[int] = set()
        waiting = [self.start]
        reached = self.start
        while waiting:
            state = waiting.pop()
            if state in visited or not state:
                continue
            visited.add(state)
            reached |= state
            # One position at a time: a union of positions behaves like its parts.
            for position in range(len(self._moves)):
                if state >> position & 1:
                    waiting += [self._find_step(1 << position, letter) for letter in letters]
        return self.start | self._find_step(reached, "/")

    def _closed(self, positions: set[int]) -> int:
        waiting, state = list(positions), 0
        while waiting:
            position = waiting.pop()
            if state >> position & 1:
                continue
            state |= 1 << position
            if position < len(self._skips):
                waiting.extend(self._skips[position])
        return state

    def _add(self, token: str) -> None:
        here = len(self._moves)
        match token:
            case "**/":
                self._add_position(None, -1, None, (here + 1, here + 2))
                self._add_position("/", here + 2, "any", ())
            case "/**":
                self._add_position("/", here + 1, None, (here + 2,))
                self._add_position(None, -1, "any", (here + 2,))
            case "**":
                self._add_position(None, -1, "any", (here + 1,))
            case "*":
                self._add_position(None, -1, "segment", (here + 1,))
            case "?":
                self._add_position(None, here + 1, None, ())
            case _:
                for character in token:
                    self._add_position(character, len(self._moves) + 1, None, ())

    def _add_position(
        self, expected: str | None, target: int, stays: str | None, skips: tuple[int, ...]
    ) -> None:
        self._moves.append((expected, target))
        self._stays.append(stays)
        self._skips.append(skips)
