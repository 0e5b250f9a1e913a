"""The set of readings that a value can have if an allowing test holds for it.

A test that allows holds if every sure reading of a value is in its globs. A test that denies
checks every possible reading, which may be another text: `/etc//x` for `/etc/x`, or
`/etc/x` for `etc/x`. A proof needs a set of texts with all of these. The sets here may hold
more texts, never fewer; if nothing is known, they hold every text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from nacre.firewall.analysis.glob_sets import Language, TextSet
from nacre.firewall.rules.arguments.readings import MAC_PREFIXES, readings, words
from nacre.firewall.rules.condition import Condition
from nacre.firewall.rules.globs.glob import is_literal
from nacre.firewall.rules.globs.matching import Automaton
from nacre.firewall.rules.rule import Surroundings

_IN_SCHEMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-\t\n\r")
_URL_HEAD = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9-]+(?:\.[a-z0-9-]+)*)(?:/|$)")
_NUMERIC_HOST = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)")
_WILD = re.compile(r"[*?]")
# A glob that is not written as a normal path: `//host/x` may be a URL, `~ann` a home folder or a
# file below any other.
_NOT_NORMAL = re.compile(r"//|(?:.*/)?(?:~?\.\.?(?:/|$)|~[^/])", re.DOTALL)
_WEB = ("http://", "https://")
_MAX_STEPS = 64  # states after `../` that are tried
_OTHER = "\ue000"  # stands for a character that no glob names

# How far a text has matched a glob: number of the glob, phase and state.
_EXACT = 0
_SLASH = 1  # slashes that a normal path has once
_DOT = 2  # a `.` after these
_RELATIVE = 3  # at the start of a text that does not begin with a slash
_START = 4  # at the start, where `./` may stand
_START_DOT = 5
_START_SLASH = 6
_WEB_HEAD = 7  # within `https://`; the state is the place there
_WEB_HOST = 8
_UNROOTED = 9  # at the start of a text that begins with neither a slash nor `~`

_UNUSED_SLASH = {
    _SLASH: {"/": _SLASH, ".": _DOT},
    _DOT: {"/": _SLASH},
    _START: {".": _START_DOT},
    _START_DOT: {"/": _START_SLASH},
    _START_SLASH: {"/": _START_SLASH, ".": _START_DOT},
}
_NEVER_FIRST = {_SLASH: "/", _RELATIVE: "/", _UNROOTED: "/~"}

# The text before a name at which a glob may begin to match.
_WITHIN = 0  # not at the start of a name
_BELOW = 1  # some folders
_ROOT = 2  # a slash
_NOTHING = 3

_Item = tuple[int, int, int]
_State = tuple[frozenset[_Item], int]


def any_text() -> Language:
    """Return the set of all texts."""
    return Language(["**"])


def possible_places(condition: Condition, where: Surroundings) -> TextSet:
    """Return all readings of a value as a path or URL if the test holds."""
    if not condition.as_path:
        return _of_literals(condition, where, as_path=True) or any_text()
    forms = list(condition.forms)
    if any(_has_control(form) or _NOT_NORMAL.match(form.replace("\\", "/")) for form in forms):
        return any_text()
    if where.folds_case:
        forms += [form.casefold().replace("?", "?*") for form in condition.forms]
    plain: list[str] = []
    loose: list[str] = []
    urls: list[str] = []
    for form in dict.fromkeys(forms):
        if not _may_be_a_url(form):
            plain.append(form)
        elif (head := _url_head(form)) is not None:
            urls += head
        else:
            loose.append(form.replace("?", "**"))
    return _Places(plain, loose, urls, where)


def possible_words(condition: Condition, where: Surroundings) -> TextSet:
    """Return all readings of a value as words if the test holds."""
    if condition.as_path:
        if all(form.startswith("/") for form in condition.forms):
            return Language(["/**"])
        return any_text()
    if where.folds_case:
        return _of_literals(condition, where, as_path=False) or any_text()
    return _Words(condition.forms)


def _of_literals(condition: Condition, where: Surroundings, *, as_path: bool) -> TextSet | None:
    """Return the readings of the values that match, or None if a glob has a wildcard."""
    if not all(map(is_literal, condition.forms)):
        return None
    texts: list[str] = []
    for form in condition.forms:
        read = readings(form, where) if as_path else words(form, where)
        if not read.complete or not all(map(is_literal, read.possible)):
            return None
        texts.extend(read.possible)
    return Language(texts)


def _has_control(form: str) -> bool:
    return not form.isprintable() or form != form.strip()


def _may_be_a_url(form: str) -> bool:
    """Tell whether a text of the glob may begin with a scheme other than `file`."""
    if form.startswith("file:/"):
        return False
    for character in _head(form):
        if character == ":":
            return True
        if character not in _IN_SCHEMES:
            return False
    return not is_literal(form)


def _head(form: str) -> str:
    """Return the text before the first wildcard."""
    return _WILD.split(form, maxsplit=1)[0]


def _url_head(form: str) -> list[str] | None:
    """Return globs for all readings of the URLs of one scheme and host, or None."""
    head = _URL_HEAD.match(_head(form))
    if head is None or head[1] == "file" or _NUMERIC_HOST.fullmatch(head[2]):
        return None
    if not head[0].endswith("/") and not is_literal(form):
        return None  # the host goes on in the wildcard
    scheme, host = head.groups()
    return [f"{scheme}://{host}**", f"{scheme}:/{host}**", f"/{scheme}:/{host}**"]


class _Places:
    """The readings of paths: with more slashes, without their root, or below another folder."""

    def __init__(
        self, plain: Sequence[str], loose: Sequence[str], urls: Sequence[str], where: Surroundings
    ) -> None:
        forms = [*plain, *loose, *urls]
        if loose:
            forms.append("**://**/")  # a host without a path
        self._globs = [Automaton(form) for form in forms]
        letters = {"/", ".", "~", *"".join(_WEB)}
        self.letters = frozenset(letters.union(*(glob.letters for glob in self._globs)))
        starts: set[_Item] = set()
        suffixes: set[_Item] = set()
        self._after_host: list[_Item] = []
        for number, glob in enumerate(self._globs):
            starts.add((number, _EXACT, glob.start))
            if number >= len(plain) + len(loose) or forms[number].startswith("file:/"):
                continue
            starts.add((number, _START, glob.start))
            suffixes.update(self._suffixes(number, where))
            if number >= len(plain):
                suffixes.add((number, _EXACT, _reachable(glob, glob.start)))
            inside = _reachable(glob, glob.step(glob.start, "/"), without="/")
            if inside:
                self._after_host.append((number, _EXACT, inside))
        self._loose = range(len(plain), len(plain) + len(loose))
        self._suffix_starts = frozenset(item for item in suffixes if item[2])
        if self._after_host:
            starts.update((place, _WEB_HEAD, 0) for place in range(len(_WEB)))
        self._after_home = self._homes(where, len(plain) + len(loose))
        self.start: _State = (frozenset(starts), _NOTHING)
        self._known: dict[tuple[_State, str], _State] = {}

    def step(self, state: _State, character: str) -> _State:
        """Return the state after one more character."""
        letter = character if character in self.letters else ""
        after = self._known.get((state, letter))
        if after is None:
            after = self._known[state, letter] = self._find_step(state, character)
        return after

    def _find_step(self, state: _State, character: str) -> _State:
        items, before = state
        here = set(items)
        if before != _WITHIN:
            here |= self._suffix_starts
        following: set[_Item] = set()
        for item in here:
            following.update(self._moves(item, character))
        if character == "~" and state == self.start:
            following |= self._after_home
        at_name = bool(self._suffix_starts) and (bool(self._loose) or character == "/")
        is_root = before == _NOTHING and character == "/"
        return frozenset(following), _ROOT if is_root else _BELOW if at_name else _WITHIN

    def accepts(self, state: _State) -> bool:
        """Tell whether a text that led here is one of the set."""
        items, before = state
        here = items | self._suffix_starts if before in (_NOTHING, _ROOT) else items
        return any(self._ends(item) for item in here)

    def is_alive(self, state: _State) -> bool:
        """Tell whether more characters could still lead into the set."""
        return bool(state[0] or self._suffix_starts)

    def _moves(self, item: _Item, character: str) -> Iterator[_Item]:
        number, phase, at = item
        if phase in (_WEB_HEAD, _WEB_HOST):
            yield from self._web_moves(item, character)
            return
        if phase in _UNUSED_SLASH:  # a normal path does without these characters
            after = _UNUSED_SLASH[phase].get(character)
            if after is not None:
                yield (number, after, at)
        if phase in (_DOT, _START_DOT) or character in _NEVER_FIRST.get(phase, ""):
            return
        glob = self._globs[number]
        if phase == _SLASH:
            at = glob.step(at, "/")
        elif phase == _EXACT and character == "/":
            yield (number, _SLASH, at)
        if at and (at := glob.step(at, character)):
            yield (number, _EXACT, at)

    def _web_moves(self, item: _Item, character: str) -> Iterator[_Item]:
        number, phase, at = item
        if phase == _WEB_HEAD:
            head = _WEB[number]
            if character == head[at]:
                is_whole = at + 1 == len(head)
                yield (number, _WEB_HOST, 0) if is_whole else (number, _WEB_HEAD, at + 1)
            return
        if at == 0 and character != "/":
            yield (number, _WEB_HOST, 0)
        elif at == 0:
            yield (number, _WEB_HOST, 1)  # the slash that a URL without a path gets
        if at == 0:
            for after in self._after_host:
                yield from self._moves(after, character)

    def _ends(self, item: _Item) -> bool:
        number, phase, at = item
        if phase == _WEB_HEAD:
            return False
        if phase == _WEB_HOST:
            return at == 1 and any(self._ends(after) for after in self._after_host)
        glob = self._globs[number]
        if number in self._loose:  # a URL without a host or path loses all slashes at its end
            return glob.accepts(_after_slashes(glob, at))
        if phase == _SLASH:
            return glob.accepts(at) or glob.accepts(glob.step(at, "/"))
        return glob.accepts(at)

    def _suffixes(self, number: int, where: Surroundings) -> Iterator[_Item]:
        """Yield the items at which a reading may begin inside the glob."""
        glob = self._globs[number]
        if any(glob.step(glob.start, letter) for letter in (*(glob.letters - {"/"}), _OTHER)):
            yield (number, _UNROOTED, glob.start)
        user = glob.step(glob.start, "~")
        if user:  # `~ann/x` is read as `/home/ann/x`, and `~/x` is not
            yield (number, _RELATIVE, user)
        for upwards in _upwards(glob, glob.start):
            yield (number, _EXACT, upwards)
        for folder in _folders(where):
            at = _run(glob, f"{folder.rstrip('/')}/")
            if at:
                yield (number, _EXACT, at)
                for upwards in _upwards(glob, at):
                    yield (number, _EXACT, upwards)

    def _homes(self, where: Surroundings, count: int) -> frozenset[_Item]:
        homes = () if where.home is None else (where.home, where.home.casefold())
        return frozenset(
            (number, _EXACT, at)
            for number in range(count)
            for home in homes
            if (at := _run(self._globs[number], home))
        )


class _Words:
    """The readings of words: one blank may stand for several."""

    def __init__(self, forms: Iterable[str]) -> None:
        self._globs = [Automaton(form) for form in forms]
        self.letters = frozenset({" "}.union(*(glob.letters for glob in self._globs)))
        self.start: tuple[int, ...] = tuple(
            _blanks(glob, glob.start, at_least=0) for glob in self._globs
        )

    def step(self, state: tuple[int, ...], character: str) -> tuple[int, ...]:
        """Return the state after one more character."""
        return tuple(
            [
                _blanks(glob, at, at_least=1)
                if character == " "
                else _blanks(glob, glob.step(at, character), at_least=0)
                for glob, at in zip(self._globs, state, strict=True)
            ]
        )

    def accepts(self, state: tuple[int, ...]) -> bool:
        """Tell whether a text that led here is one of the set."""
        return any(glob.accepts(at) for glob, at in zip(self._globs, state, strict=True))

    def is_alive(self, state: tuple[int, ...]) -> bool:
        """Tell whether more characters could still lead into the set."""
        return any(state)


def _blanks(glob: Automaton, at: int, *, at_least: int) -> int:
    """Return the state after any number of blanks of any kind."""
    kinds = [letter for letter in glob.letters if letter.isspace()] + [_OTHER]
    reached = at if at_least == 0 else 0
    waiting = at
    while waiting:
        after = 0
        for letter in kinds:
            after |= glob.step(waiting, letter)
        waiting = after & ~reached
        reached |= after
    return reached


def _folders(where: Surroundings) -> tuple[str, ...]:
    folded = (base.casefold() for base in where.bases)
    return tuple(dict.fromkeys([*where.bases, *folded, *MAC_PREFIXES]))


def _run(glob: Automaton, text: str) -> int:
    at = glob.start
    for character in text:
        at = glob.step(at, character) if at else 0
    return at


def _upwards(glob: Automaton, at: int) -> Iterator[int]:
    """Yield the states after `../` and `./`, any number of times."""
    waiting, reached = [at], set[int]()
    while waiting and len(reached) < _MAX_STEPS:
        at = waiting.pop()
        for text in ("../", "./"):
            after = at
            for character in text:
                after = glob.step(after, character) if after else 0
            if after and after not in reached:
                reached.add(after)
                waiting.append(after)
    yield from reached


def _after_slashes(glob: Automaton, at: int) -> int:
    """Return the union of the states after any number of slashes."""
    reached, waiting = at, at
    while waiting:
        waiting = glob.step(waiting, "/") & ~reached
        reached |= waiting
    return reached


def _reachable(glob: Automaton, at: int, *, without: str = "") -> int:
    """Return the union of the states that any text leads to."""
    if not at:
        return 0
    letters = [*(glob.letters - set(without)), _OTHER]
    reached, waiting = 0 if without else at, at
    while waiting:
        after = 0
        for letter in letters:
            after |= glob.step(waiting, letter)
        waiting = after & ~reached
        reached |= after
    return reached
