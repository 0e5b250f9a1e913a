"""The forms of a pattern: what it says, and what it says once read like a value."""

import re
import unicodedata
from collections.abc import Iterable

from nacre.firewall.rules.arguments.readings import MAC_ALIAS, is_absolute, normal, resolved
from nacre.firewall.rules.globs.glob import is_literal, literal_prefix
from nacre.firewall.rules.rule import Surroundings

_SCHEME = re.compile(r"[A-Za-z*][A-Za-z0-9+.*-]*://")
_FILE_URL = re.compile(r"file:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
_ABSOLUTE = re.compile(r"[/\\~]|\*\*[/\\]|[A-Za-z]:[/\\]|file:", re.IGNORECASE)
_HOME = re.compile(r"(?:/home/[^/*?]+|/Users/[^/*?]+|/root)(?=/|$)")
_ANY_HOME = ("/home/*", "/Users/*", "/root", "C:/Users/*")


def names_a_place(pattern: str) -> bool:
    """Tell whether a pattern is about paths or URLs.

    One with blanks is about commands, and `**` about anything.
    """
    return pattern != "**" and (" " not in pattern or pattern.startswith(("/", "~")))


def is_about_paths(pattern: str) -> bool:
    """Tell whether a pattern is about absolute paths: what a relative one leads to counts."""
    if not names_a_place(pattern) or pattern == "*":
        return False
    return _ABSOLUTE.match(pattern) is not None


def sure_forms(pattern: str, where: Surroundings) -> tuple[str, ...]:
    """Return the forms of an allowing rule's pattern: the same places, spelt differently."""
    if not names_a_place(pattern):
        return tuple(dict.fromkeys([pattern, unicodedata.normalize("NFKC", pattern)]))
    return tuple(dict.fromkeys(_sure_forms(pattern, where)))


def possible_forms(pattern: str, where: Surroundings) -> tuple[str, ...]:
    """Return the forms of a denying or asking rule's pattern; homes that nobody knows too."""
    forms = list(sure_forms(pattern, where))
    forms += [MAC_ALIAS.sub("", form) for form in forms if form.startswith(("/private", "/System"))]
    if where.home is None and names_a_place(pattern):
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
    """Return the pattern as a normal path; a `..` behind a wildcard stays where it is."""
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
    """Split after the last `/` before the first wildcard; what has none is all head."""
    if is_literal(form):
        return form, ""
    head = form[: len(literal_prefix(form)) + 1].rpartition("/")[0] + "/"
    if not form.startswith(head):
        return "", form
    return head, form[len(head) :]
