"""The same said in other words, and something else said in nearly the same words.

Every function takes a sentence and returns a changed one, or None where the change has nothing
to hold on to. `SAME` keep what a sentence says; `OTHER` say something else.
"""

import re
from collections.abc import Callable
from random import Random

from nacre.text.analysis import terms

Variant = Callable[[str, Random], str | None]

_ARTICLES = ("a", "an", "the")
_VERBS = ("is", "are", "was", "were", "has", "have", "can", "will", "does", "did")
_NEGATION = {verb: f"{verb} not" for verb in _VERBS}
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
_NOUNS = ("ladder", "piano", "harbour", "carpet", "trumpet", "blanket", "lantern", "kettle")
_CLAUSES = re.compile(r"^(.{15,}?)(?:,? (because|while|after|when|before)) (.{15,})$")


def spaced(text: str, _rng: Random) -> str | None:
    """Other blanks, and a full stop more or less."""
    stop = "" if text.endswith(".") else "."
    return "  ".join(text.removesuffix(".").split()) + stop


def announced(text: str, rng: Random) -> str | None:
    """A few words before it that say nothing."""
    return f"{rng.choice(('In fact,', 'Actually,', 'By the way,'))} {text}"


def telegraphed(text: str, _rng: Random) -> str | None:
    """Without its articles."""
    kept = [word for word in text.split() if word.casefold() not in _ARTICLES]
    return " ".join(kept) if len(kept) < len(text.split()) else None


def shortened(text: str, rng: Random) -> str | None:
    """Without one of the words that carry something."""
    places = [place for place, word in enumerate(text.split()) if _carries(word)]
    if len(places) < 6:
        return None
    left_out = rng.choice(places[2:])
    return " ".join(word for place, word in enumerate(text.split()) if place != left_out)


def fronted(text: str, _rng: Random) -> str | None:
    """The second clause first, with its conjunction."""
    found = _CLAUSES.match(text.rstrip("."))
    return None if found is None else f"{found[2].capitalize()} {found[3]}, {found[1]}"


def turned(text: str, _rng: Random) -> str | None:
    """The clauses on the other side of the conjunction."""
    found = _CLAUSES.match(text.rstrip("."))
    return None if found is None else f"{found[3]} {found[2]} {found[1]}"


def swapped(text: str, rng: Random) -> str | None:
    """Two words that carry something in each other's place."""
    words = text.split()
    places = [place for place, word in enumerate(words) if _carries(word)]
    if len(places) < 2:
        return None
    one, other = rng.sample(places, 2)
    words[one], words[other] = words[other], words[one]
    return " ".join(words) if " ".join(words) != text else None


def negated(text: str, rng: Random) -> str | None:
    """That it is not so."""
    words = text.split()
    places = [place for place, word in enumerate(words) if word.casefold() in _NEGATION]
    if not places or re.search(r"\b(not|no|never)\b|n't", text, re.IGNORECASE):
        return None
    place = rng.choice(places)
    words[place] = _NEGATION[words[place].casefold()]
    return " ".join(words)


def numbered(text: str, rng: Random) -> str | None:
    """With a number that was not there, or another one in its place."""
    if re.search(r"\d", text):
        return re.sub(r"\d+", lambda found: str(int(found[0]) + rng.randint(1, 9)), text, count=1)
    words = text.split()
    places = [place for place, word in enumerate(words) if _carries(word)][1:]
    if not places:
        return None
    words.insert(rng.choice(places), rng.choice(_NUMBERS))
    return " ".join(words)


def renamed(text: str, rng: Random) -> str | None:
    """With another thing in the place of one."""
    words = text.split()
    places = [place for place, word in enumerate(words) if _carries(word) and word[0].islower()]
    if not places:
        return None
    place = rng.choice(places)
    words[place] = rng.choice([noun for noun in _NOUNS if noun != words[place].strip(".,")])
    return " ".join(words)


SAME: dict[str, Variant] = {
    "blanks and stops": spaced,
    "words before it": announced,
    "articles dropped": telegraphed,
    "clause with its conjunction in front": fronted,
}
OTHER: dict[str, Variant] = {
    "negated": negated,
    "two words swapped": swapped,
    "clauses turned": turned,
    "one content word dropped": shortened,
    "number changed": numbered,
    "one noun replaced": renamed,
}


def _carries(word: str) -> bool:
    return len(word) > 3 and bool(terms(word))
