"""Sets of relative paths that fall under globs below some parent, for proofs."""

from typing import NamedTuple

from nacre.firewall.analysis.glob_sets import Language
from nacre.firewall.rules.condition import Condition
from nacre.firewall.rules.globs.automaton import Automaton
from nacre.firewall.rules.globs.relative_globs import below

# What the segment so far is: empty, `.`, `..`, or a name.
_EMPTY = 0
_DOT = 1
_DOTS = 2
_NAME = 3
_DOTTED = {_EMPTY: _DOT, _DOT: _DOTS}


class _Path(NamedTuple):
    """How far a text has got as a normal relative path."""

    segment: int = _EMPTY
    is_first: bool = True
    ends_scheme: bool = False


class Caught:
    """The texts that a test catches: those under its globs, and relative ones below a parent.

    With `is_relative`, a text is known to be a relative path of the value. Else it may be
    the rest of a URL, `scheme:/path`, and only what is a relative path for certain is in
    the set.
    """

    def __init__(self, condition: Condition, *, is_relative: bool, plain: bool = True) -> None:
        self._whole = Language(condition.forms if plain else ())
        self._tails = [Automaton(form) for form in condition.forms if below(form) is not None]
        self._is_relative = is_relative
        self.letters = frozenset("/.:~").union(
            self._whole.letters, *(each.letters for each in self._tails)
        )
        tails = tuple((each.after_any_parent, 0) for each in self._tails)
        self.start: tuple[object, ...] = (self._whole.start, tails, _Path() if tails else None)

    def step(self, state: tuple, character: str) -> tuple:  # type: ignore[type-arg]
        """Return the state after one more character."""
        whole, tails, path = state
        path = None if path is None else self._follow(path, character)
        if path is not None:
            tails = tuple(
                [
                    glob.step_below(each, character)
                    for glob, each in zip(self._tails, tails, strict=True)
                ]
            )
            if not any(any(each) for each in tails):
                path = None
        return self._whole.step(whole, character), tails if path is not None else (), path

    def accepts(self, state: tuple) -> bool:  # type: ignore[type-arg]
        """Tell whether a text that led here is one of the set."""
        whole, tails, path = state
        if self._whole.accepts(whole):
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
        return state[2] is not None or self._whole.is_alive(state[0])

    def _follow(self, path: _Path, character: str) -> _Path | None:
        if character == "/":
            if path.segment != _NAME or (path.ends_scheme and not self._is_relative):
                return None
            return _Path(_EMPTY, is_first=False)
        if character == "~" and path.is_first and path.segment == _EMPTY:
            return None
        segment = _DOTTED.get(path.segment, _NAME) if character == "." else _NAME
        return _Path(segment, path.is_first, path.is_first and character == ":")
