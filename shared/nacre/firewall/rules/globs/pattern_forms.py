"""The forms of a pattern: as written, as a normal path, and below an unknown parent."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from nacre.firewall.rules.arguments.readings import MAC_ALIAS, is_absolute, normal, resolved
from nacre.firewall.rules.globs.glob import is_literal, literal_prefix
from nacre.firewall.rules.globs.matching import Automaton
from nacre.firewall.rules.rule import Surroundings

_SCHEME = re.compile(r"[A-Za-z*][A-Za-z0-9+.*-]*://")
_FILE_URL = re.compile(r"file:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
_ABSOLUTE = re.compile(r"[/\\~]|\*\*[/\\]|[A-Za-z]:[/\\]|file:", re.IGNORECASE)
_HOME = re.compile(r"(?:/home/[^/*?]+|/Users/[^/*?]+|/root)(?=/|$)")
_NAMED = re.compile(r"[^*?/]+")
_MAX_PATH = 4096  # no system opens a longer one
_ANY_HOME = ("/home/*", "/Users/*", "/root", "C:/Users/*")


def is_path_or_url(pattern: str) -> bool:
    """Tell whether a pattern is about paths or URLs.

    A pattern with blanks is about commands, and `**` matches anything.
    """
    return pattern != "**" and (" " not in pattern or pattern.startswith(("/", "~")))


def is_about_paths(pattern: str) -> bool:
    """Tell whether a pattern is about absolute paths, so relative values must be resolved."""
    if not is_path_or_url(pattern) or pattern == "*":
        return False
    return _ABSOLUTE.match(pattern) is not None


def sure_forms(pattern: str, where: Surroundings) -> tuple[str, ...]:
    """Return the forms of an allowing rule's pattern: other spellings of the same places."""
    if not is_path_or_url(pattern):
        return tuple(dict.fromkeys([pattern, unicodedata.normalize("NFKC", pattern)]))
    return tuple(dict.fromkeys(_sure_forms(pattern, where)))


def possible_forms(pattern: str, where: Surroundings) -> tuple[str, ...]:
    """Return the forms of a denying or asking rule's pattern, with unknown homes too."""
    forms = list(sure_forms(pattern, where))
    forms += [MAC_ALIAS.sub("", form) for form in forms if form.startswith(("/private", "/System"))]
    if where.home is None and is_path_or_url(pattern):
        for form in list(forms):
            if form == "~" or form.startswith("~/"):
                forms.extend(home + form[1:] for home in _ANY_HOME)
            home = _HOME.match(form)
            if home is not None:
                forms.append(f"~{form[home.end() :]}")
    if where.folds_case:
        forms.extend([form.casefold() for form in forms])
    return tuple(dict.fromkeys(forms))


def _sure_forms(pattern: str, where: Surroundings) -> Iterable[str]:
    yield pattern
    form = unicodedata.normalize("NFKC", pattern).replace("\\", "/")
    if _SCHEME.match(form) is not None and _FILE_URL.match(form) is None:
        yield form
        return
    file = _FILE_URL.match(form)
    if file is not None:
        form = form[file.end() :]
    if where.home is not None and (form == "~" or form.startswith("~/")):
        form = where.home + form[1:]
    places = [form]
    if where.bases and not is_absolute(form) and not form.startswith(("**", "~")):
        places = [f"{base}/{form}" for base in where.bases]
        if form.startswith("*"):
            yield _normal_head(form)
    for place in map(_normal_head, places):
        yield place
        if where.is_local and is_absolute(place):
            yield _resolved_head(place)


def _normal_head(form: str) -> str:
    """Return the pattern as a normal path; a `..` after a wildcard stays."""
    head, tail = _split(form)
    plain = normal(head)
    if not tail:
        return plain
    tail = re.sub(r"/(?:\.?/)+", "/", tail)
    tail = tail.removesuffix("/") if not tail.endswith("*/") or tail != "*/" else tail
    return f"{plain.rstrip('/')}/{tail}" if plain else tail


def _resolved_head(form: str) -> str:
    head, tail = _split(form)
    real = resolved(head or "/")
    return f"{real.rstrip('/')}/{tail}" if tail else real


def _split(form: str) -> tuple[str, str]:
    """Split after the last `/` before the first wildcard; a pattern without one is all head."""
    if is_literal(form):
        return form, ""
    head = form[: len(literal_prefix(form)) + 1].rpartition("/")[0] + "/"
    if not form.startswith(head):
        return "", form
    return head, form[len(head) :]


class RelativeGlob:
    """A glob about absolute paths, compared with relative paths whose parent is not known."""

    __slots__ = ("_automaton", "_is_open", "_last_name", "_pattern")

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        names = _NAMED.findall(pattern)
        self._last_name = names[-1] if names else ""
        self._is_open = pattern.endswith("/**")
        self._automaton: Automaton | None = None

    def covers(self, text: str) -> bool:
        """Tell whether the glob covers `PARENT/text` for some parent."""
        return len(text) <= _MAX_PATH and (self._is_open or self._run(text)[0])

    def names(self, text: str) -> bool:
        """Tell whether the glob covers `PARENT/text`, and names a part of the text itself.

        So `.ssh/id_rsa` falls under `/home/*/.ssh/**`, and `hello` does not.
        """
        # The text has all that follows the first named character, so it has the last name.
        if not self._last_name or self._last_name not in text or len(text) > _MAX_PATH:
            return False
        return self._run(text)[1]

    def _run(self, text: str) -> tuple[bool, bool]:
        if self._automaton is None:
            self._automaton = Automaton(self._pattern)
        return self._automaton.covers_below(text)


@lru_cache(maxsize=4096)
def relative_glob(form: str) -> RelativeGlob | None:
    """Return the glob for relative paths, or None if it is not about absolute paths."""
    return RelativeGlob(form) if is_about_paths(form) else None
