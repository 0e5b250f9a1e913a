"""Globs: patterns and texts, judged by a matcher that shares nothing with the product's.

The reference writes a pattern out into all the plain patterns that it stands for (`a/**/b` is also
`a/b`) and compares those character by character.
"""

# ruff: noqa: E501 (a table is read best with one case in a line)

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

PATTERNS = (
    "a", "abc", "a*", "*a", "a*b", "*", "**", "?", "a?c", "??", "a/b", "a/*", "*/b", "a/*/c", "a/**",
    "**/a", "a/**/b", "**/a/**", "/etc/**", "/etc/*", "/home/*/x", "/home/**/x", "**/.env", "**/*.py",
    "*.py", "src/*.py", "src/**/*.py", "/a/b/c", "/a/?/c", "a**b", "a***b", "**a", "a**", "*/**/*",
    "read_*", "*_file", "fs__*", "get?", "file[1].txt", "{a,b}", "!a", "a.b", "a+b", "(a)", "^a$", "a|b",
    "https://api.example/**", "https://*.example/*", "*@example.org", "**@example.org", "/w/**/k?y",
    "/srv/**/**", "ä*", "*ß", "日本/**", "/tmp/*/*.log", "/**", "**/", "a/", "//", "a//b", ".*", "*.*",
    "/.ssh/**", "**/.ssh/**", "git *", "git **", "SELECT **",
)  # fmt: skip
SIZE = 1200
_LETTERS = "ab/.x_ é"


@cache
def _plain(pattern: str) -> tuple[str, ...]:
    """Return the pattern and what it also stands for when a `**` stands for no segment."""
    found = {pattern}
    waiting = [pattern]
    while waiting:
        each = waiting.pop()
        shorter = {each[:place] + each[place + 3 :] for place in _inner(each)}
        if each.startswith("**/"):
            shorter.add(each[3:])
        if each.endswith("/**") and len(each) > 3:
            shorter.add(each[:-3])
        for other in shorter - found:
            found.add(other)
            waiting.append(other)
    return tuple(sorted(found))


def _inner(pattern: str) -> Iterator[int]:
    return (at for at in range(len(pattern)) if pattern[at : at + 4] == "/**/")


def fits(pattern: str, text: str) -> bool:
    """Tell whether a pattern matches a whole text."""
    return any(_fits(each, text) for each in _plain(pattern))


def _fits(pattern: str, text: str) -> bool:
    """Walk over the pattern with the set of places in the text that can be reached."""
    places = {0}
    at = 0
    while at < len(pattern):
        if pattern.startswith("**", at):
            at += 2
            places = set(range(min(places), len(text) + 1)) if places else set()
        elif pattern[at] == "*":
            at += 1
            places = {end for place in places for end in _within(text, place)}
        else:
            letter = pattern[at]
            at += 1
            places = {
                place + 1
                for place in places
                if place < len(text) and (letter == "?" or text[place] == letter)
            }
    return len(text) in places


def _within(text: str, place: int) -> range:
    slash = text.find("/", place)
    return range(place, (slash if slash >= 0 else len(text)) + 1)


def rows() -> list[dict[str, Any]]:
    """Return the vectors, the same at every call."""
    chance = random.Random(11)
    pairs: dict[tuple[str, str], None] = {}
    while len(pairs) < SIZE:
        pattern = chance.choice(PATTERNS)
        text = _text(pattern, chance)
        if chance.random() < 0.4:
            text = _changed(text, chance)
        pairs[pattern, text] = None
    return [
        {"pattern": pattern, "text": text, "recommended": fits(pattern, text)}
        for pattern, text in pairs
    ]


def _text(pattern: str, chance: random.Random) -> str:
    """Return a text that the pattern may match."""
    text = chance.choice(_plain(pattern))
    for glob, letters in (("**", _LETTERS), ("*", _LETTERS.replace("/", "")), ("?", _LETTERS)):
        while glob in text:
            size = 1 if glob == "?" else chance.randrange(5)
            text = text.replace(glob, "".join(chance.choices(letters, k=size)), 1)
    return text


def _changed(text: str, chance: random.Random) -> str:
    place = chance.randrange(len(text) + 1)
    change = chance.choice(("insert", "remove", "replace", "double"))
    if change == "insert":
        return text[:place] + chance.choice(_LETTERS) + text[place:]
    if change == "remove":
        return text[:place] + text[place + 1 :]
    if change == "replace":
        return text[:place] + chance.choice(_LETTERS) + text[place + 1 :]
    return text + "/" + text
