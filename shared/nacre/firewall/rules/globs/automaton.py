"""A glob as an automaton: linear in the text whatever the glob, and open to proofs."""

import re

from nacre.firewall.rules.globs.glob import tokens

_MAX_KNOWN_STEPS = 20_000  # then they are found anew; a glob of a policy has a few hundred


class Automaton:
    """The states of one glob. A state is the set of places in the glob, as bits.

    Characters that the glob does not name are all alike; `letter` gives the one that
    stands for them.
    """

    def __init__(self, pattern: str) -> None:
        self._moves: list[tuple[str | None, int]] = []
        self._stays: list[str | None] = []  # "any", "segment" or nothing, for each place
        self._skips: list[tuple[int, ...]] = []
        for token in tokens(pattern):
            self._add(token)
        self.end = 1 << len(self._moves)
        self.letters = frozenset(each for each, _ in self._moves if each) | {"/"}
        self._named = re.compile("[" + "".join(map(re.escape, sorted(self.letters))) + "]")
        self.start = self._closed({0})
        self._known: dict[tuple[int, str], int] = {}
        self._known_named: dict[tuple[int, str], int] = {}
        self._below: int | None = None

    def covers(self, text: str) -> bool:
        """Tell whether the glob covers the whole text."""
        state, place = self.start, 0
        while place < len(text):
            character = text[place]
            if character not in self.letters and self.step(state, character) == state:
                # Nothing changes before the next character that the glob names; most of a
                # file's content is passed over so.
                found = self._named.search(text, place)
                if found is None:
                    break
                place = found.start()
                character = found.group()
            state = self.step(state, character)
            if not state:
                return False
            place += 1
        return self.accepts(state)

    def covers_below(self, text: str) -> tuple[bool, bool]:
        """Tell whether the glob covers `PARENT/text` for some parent.

        The second answer is stricter: the text itself must hold a character that the glob
        names, so that the glob's wildcards alone do not cover it.
        """
        state, named = self.after_any_parent, 0
        for character in text:
            state, named = self.step_below((state, named), character)
            if not state:
                return False, False
        return self.accepts(state), self.accepts(named)

    @property
    def after_any_parent(self) -> int:
        """The state after a text that is empty or ends in `/`, whatever it is."""
        if self._below is None:
            self._below = self._find_after_any_parent()
        return self._below

    def step_below(self, states: tuple[int, int], character: str) -> tuple[int, int]:
        """Return both states of `covers_below` after one more character."""
        state, named = states
        named = self.step(named, character) | self._named_step(state, character)
        return self.step(state, character), named

    def accepts(self, state: int) -> bool:
        """Tell whether a text may end here."""
        return bool(state & self.end)

    def step(self, state: int, character: str) -> int:
        """Return the state after one more character; 0 is the state without a way out."""
        letter = character if character in self.letters else ""
        following = self._known.get((state, letter))
        if following is None:
            if len(self._known) >= _MAX_KNOWN_STEPS:
                self._known.clear()
            following = self._known[state, letter] = self._find_step(state, letter)
        return following

    def _find_step(self, state: int, letter: str) -> int:
        reached: set[int] = set()
        for place, (wanted, target) in enumerate(self._moves):
            if not state >> place & 1:
                continue
            if target >= 0 and wanted in (None, letter):
                reached.add(target)
            stays = self._stays[place]
            if stays == "any" or (stays == "segment" and letter != "/"):
                reached.add(place)
        return self._closed(reached)

    def _named_step(self, state: int, character: str) -> int:
        """Return the state after a character that the glob names at this place."""
        if character == "/" or character not in self.letters or not state:
            return 0
        following = self._known_named.get((state, character))
        if following is None:
            if len(self._known_named) >= _MAX_KNOWN_STEPS:
                self._known_named.clear()
            following = self._known_named[state, character] = self._closed(
                {
                    target
                    for place, (wanted, target) in enumerate(self._moves)
                    if state >> place & 1 and wanted == character
                }
            )
        return following

    def _find_after_any_parent(self) -> int:
        letters = (*self.letters, "")
        seen: set[int] = set()
        waiting = [self.start]
        reached = self.start
        while waiting:
            state = waiting.pop()
            if state in seen or not state:
                continue
            seen.add(state)
            reached |= state
            # One place at a time: a union of places behaves like its parts.
            for place in range(len(self._moves)):
                if state >> place & 1:
                    waiting += [self._find_step(1 << place, letter) for letter in letters]
        return self.start | self._find_step(reached, "/")

    def _closed(self, places: set[int]) -> int:
        waiting, state = list(places), 0
        while waiting:
            place = waiting.pop()
            if state >> place & 1:
                continue
            state |= 1 << place
            if place < len(self._skips):
                waiting.extend(self._skips[place])
        return state

    def _add(self, token: str) -> None:
        here = len(self._moves)
        match token:
            case "**/":
                self._place(None, -1, None, (here + 1, here + 2))
                self._place("/", here + 2, "any", ())
            case "/**":
                self._place("/", here + 1, None, (here + 2,))
                self._place(None, -1, "any", (here + 2,))
            case "**":
                self._place(None, -1, "any", (here + 1,))
            case "*":
                self._place(None, -1, "segment", (here + 1,))
            case "?":
                self._place(None, here + 1, None, ())
            case _:
                for character in token:
                    self._place(character, len(self._moves) + 1, None, ())

    def _place(
        self, wanted: str | None, target: int, stays: str | None, skips: tuple[int, ...]
    ) -> None:
        self._moves.append((wanted, target))
        self._stays.append(stays)
        self._skips.append(skips)
