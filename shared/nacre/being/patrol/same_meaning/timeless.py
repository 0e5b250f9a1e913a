"""Whether a text says the same whatever the day it was told on.

"Ann came back yesterday" means another day each time. No list holds all words that mean a day,
in all languages and spellings; so a text must show that it has none: it must be one English
clause of known build, in which each word has a place that no time can take.
"""

from collections.abc import Sequence

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning.clause_grammar import clause, is_name, is_noun, places
from nacre.being.patrol.same_meaning.sentences import is_english, read
from nacre.being.patrol.same_meaning.voice import actives


def holds_on_any_day(text: str) -> bool:
    """Whether nothing in a text can depend on the day."""
    words = read(text)
    if words is None or not _has_only_people(words):
        return False
    told = ("I", *words) if words[:1] and words[0] in en.PASTS_OF else words
    if any(_is_deed(each) for each in (told, *actives(words, frozenset()))):
        return is_english(text)
    match words:
        case (name, "is", "a" | "an", noun, *rest) if is_name(name) and is_noun(noun):
            return places(tuple(rest), 0) == len(rest)
        case (name, "is", "allergic", "to", noun) if is_name(name):
            return is_noun(noun)
        case (name, verb, noun) if is_name(name) or name == "user":
            return verb in ("likes", "loves", "hates", "prefers") and is_noun(noun)
        case ("user", "prefers", adjective, noun):
            return adjective in en.ADJECTIVES and is_noun(noun)
        case _:
            return False


def _is_deed(words: Sequence[str]) -> bool:
    """Whether these words are a clause about a deed: no state, no plan and no hour."""
    parts = clause(words)
    hours = {"will", "noon", "midnight", *en.NUMBERS}
    return parts is not None and parts.verb != "be" and not hours & {*words}


def _has_only_people(words: Sequence[str]) -> bool:
    """Whether each word with a capital is a common first name, or a place or person after "to".

    It could be a feast: "Ann left Easter".
    """
    return all(
        word.islower()
        or word == "I"
        or word.removesuffix("'s").lower() in en.FIRST_NAMES
        or (place > 0 and words[place - 1] in ("to", "from", "with"))
        for place, word in enumerate(words)
    )
