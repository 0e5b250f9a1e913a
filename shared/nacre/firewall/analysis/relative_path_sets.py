"""Sets of relative paths that some parent folder puts under a glob, for proofs."""

from typing import NamedTuple

from nacre.firewall.analysis.glob_sets import Language
from nacre.firewall.rules.condition import Condition
from nacre.firewall.rules.globs.matching import Automaton
from nacre.firewall.rules.globs.pattern_forms import relative_glob

# The segment so far: empty, `.`, `..` or a name.
_EMPTY = 0
_DOT = 1
_DOTS = 2
_NAME = 3
_DOTTED = {_EMPTY: _DOT, _DOT: _DOTS}


class _Path(NamedTuple):
    """The state of a text as a normal relative path."""

    segment: int = _EMPTY
    is_first: bool = True
    ends_scheme: bool = False


class CaughtTexts:
    """The texts that a test catches: those under its globs, and relative ones below a parent.

    With `is_relative`, every text is a relative path of the value. Otherwise a text may be
    the end of a URL, `scheme:/path`, and the set has only texts that are certainly relative.
    """

    def __init__(self, condition: Condition, *, is_relative: bool, plain: bool = True) -> None:
        self._texts = Language(condition.forms if plain else ())
        self._tails = [
            Automaton(form) for form in condition.forms if relative_glob(form) is not None
        ]
        self._is_relative = is_relative
        self.letters = frozenset("/.:~").union(
            self._texts.letters, *(glob.letters for glob in self._tails)
        )
        tails = tuple((glob.after_any_parent, 0) for glob in self._tails)
        self.start: tuple[object, ...] = (self._texts.start, tails, _Path() if tails else None)

    def step(self, state: tuple, character: str) -> tuple:  # type: ignore[type-arg]
        """Return the state after one more character."""
        text, tails, path = state
        path = None if path is None else self._follow(path, character)
        if path is not None:
            tails = tuple(
                [
                    glob.step_below(states, character)
                    for glob, states in zip(self._tails, tails, strict=True)
                ]
            )
            if not any(map(any, tails)):
                path = None
        return self._texts.step(text, character), tails if path is not None else (), path

    def accepts(self, state: tuple) -> bool:  # type: ignore[type-arg]
        """Tell whether a text that led here is one of the set."""
        text, tails, path = state
        if self._texts.accepts(text):
            return True
        return (
            path is not None
            and path.segment == _NAME
            and any(
                glob.accepts(named) for glob, (_, named) in zip(self._tails, tails, strict=True)
            )
        )

    def is_alive(self, state: tuple) -> bool:  # type: ignore[type-arg]
        """Tell whether more characters could still lead into the set."""
        return state[2] is not None or self._texts.is_alive(state[0])

    def _follow(self, path: _Path, character: str) -> _Path | None:
        if character == "/":
            if path.segment != _NAME or (path.ends_scheme and not self._is_relative):
                return None
            return _Path(_EMPTY, is_first=False)
        if character == "~" and path.is_first and path.segment == _EMPTY:
            return None
        segment = _DOTTED.get(path.segment, _NAME) if character == "." else _NAME
        return _Path(segment, path.is_first, path.is_first and character == ":")
