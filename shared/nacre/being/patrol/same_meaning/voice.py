"""The voice: "Ann painted the fence" is "the fence was painted by Ann", never the reverse.

The agent after "by" must be a person or animal of a closed list, or one of the people of the note:
a lamp may be "placed by the piano". No verb of placing is in the list of verbs.
"""

from collections.abc import Iterator, Sequence

from nacre.being.patrol.same_meaning import english_words as en
from nacre.being.patrol.same_meaning import event_words as ev
from nacre.being.patrol.same_meaning.clause_grammar import is_name, is_noun
from nacre.being.patrol.same_meaning.phrases import is_amount, is_open, noun_phrase, prepositional
from nacre.being.patrol.same_meaning.sentences import Sentence

_BE = frozenset(("is", "are", "was", "were"))
_UNSURE = ev.QUANTIFIED | ev.NEGATIVE | ev.FOCUS | {"and", "or"}
_HELPERS = (
    _BE
    | en.word_set("can may might would")
    | {"has", "have", "had", "will", "must", "should", "been", "being", "be", "not"}
)


def same_by_voice(active: Sentence, passive: Sentence, people: frozenset[str]) -> bool:
    """Return whether the second sentence is the passive of the first."""
    return active in actives(passive, people)


def actives(words: Sentence, people: frozenset[str]) -> Iterator[Sentence]:
    """Yield the active forms of a passive sentence."""
    start = next((place for place, word in enumerate(words) if word in _HELPERS), 0)
    if not start or words.count("by") != 1:
        return
    target, by = words[:start], words.index("by")
    verb = start
    while verb < by and words[verb] in _HELPERS:
        verb += 1
    if verb >= by or not _is_target(target):
        return
    agent, time = _agent(words[by + 1 :])
    between = words[verb + 1 : by]
    if not _is_agent(agent, words[verb], people) or not _is_between(words[verb], between, target):
        return
    if agent[0] in ev.THIRD_PERSON and any("'" in word or word == "of" for word in target):
        return  # "Ann's dog was fed by her": she may be Ann, in the active voice she is not
    if target[0].isdecimal() and (agent[0].isdecimal() or "not" in words[start:verb]):
        return
    if agent[0].isdecimal() and "not" in words[start:verb]:
        return
    is_counted = target[0].isdecimal() or agent[0].isdecimal()
    if ("not" in words[start:verb] or is_counted) and not (
        _is_definite(target) and _is_definite(agent)
    ):
        return
    doer = _other_case(agent, en.OBJECTS)
    patient = _other_case(target, en.SUBJECTS)
    is_one = "and" not in agent and agent[-1] not in en.SEVERAL
    for middle in _verbs(words[start:verb], words[verb], is_one=is_one):
        yield (*doer, *middle, *patient, *between, *time)


def _is_target(words: Sentence) -> bool:
    """Return whether these words are one thing or person, without quantities."""
    first, others = words[0], words[1:]
    is_phrase = noun_phrase(words, 0) == len(words) and not is_amount(first)
    if is_phrase and not (_UNSURE | ev.THIRD_PERSON) & {*words}:
        return True
    if not others:
        return first in en.SUBJECTS or is_name(first)
    if is_name(first):
        is_pair = len(others) == 2 and others[0] == "and"
        return is_pair and is_name(others[1])
    if first.isdecimal():
        return len(others) == 1 and is_noun(others[0])
    is_set = first in ("the", "a", "an", "my", "our", "your", "this") or is_name(
        first.removesuffix("'s")
    )
    return is_set and len(others) <= 3 and all(is_noun(word) for word in others)


def _agent(words: Sentence) -> tuple[Sentence, Sentence]:
    """Return the agent, and the time after it."""
    for size in (2, 1):
        time = words[-size:]
        if _is_time(time):
            return words[:-size], time
    return words, ()


def _is_time(words: Sentence) -> bool:
    if len(words) == 2 and words[0] in ("on", "in"):
        return words[1] in en.DATED or (words[1].isdecimal() and len(words[1]) == 4)
    return words in (("yesterday",), ("last", "week"), ("last", "year"))


def _is_agent(words: Sentence, participle: str, people: frozenset[str]) -> bool:
    agents = en.AGENTS | ev.RELATIVES | (en.ANIMALS if participle in en.HARMED else frozenset())
    agents |= ev.INSTITUTIONS if participle in ev.DECIDED else frozenset()
    agents |= ev.TOOLS if participle in ev.OPERATED else frozenset()
    match words:
        case (one,):
            is_weather = one in ev.MASS_WEATHER and participle in en.HARMED
            return one in en.OBJECTS or _is_person(one, people) or is_weather
        case (title, one) if title in en.TITLES:
            return is_name(one)
        case (one, "and", other):
            return _is_person(one, people) and _is_person(other, people)
        case (first, *modifiers, noun) if len(modifiers) < 3 and all(map(is_open, modifiers)):
            is_owner = first.endswith("'s") and _is_person(first[:-2], people)
            return noun in agents and (
                (first.isdecimal() and noun in en.SEVERAL and not modifiers)
                or first in ("the", "a", "an", "my", "our", "your")
                or is_owner
            )
        case _:
            return False


def _is_person(word: str, people: frozenset[str]) -> bool:
    low = word.lower()
    return is_name(word) and (low in en.FIRST_NAMES or low in people)


def _is_between(participle: str, words: Sentence, target: Sentence) -> bool:
    """Return whether these words are the goal of an invitation, a colour of paint, or a time."""
    match words:
        case ():
            return True
        case (colour,) if colour in en.COLOURS:
            return participle == "painted"
        case ("to", "the", noun) if participle in ("invited", "driven"):
            return noun in en.DESTINATIONS
        case ("to", *_):
            return participle in ev.GIVEN and prepositional(words, 0) == len(words)
        case (first, *_) if first in en.DETERMINERS or is_amount(first):
            is_thing = noun_phrase(words, 0) == len(words)
            return participle in ev.GIVEN - {"sold"} and is_thing and _is_taker(target)
        case ("near" | "in" | "at" | "to", *_) if is_name(target[0]) and len(target) == 1:
            return prepositional(words, 0) == len(words)
        case _:
            return _is_time(words)


def _is_taker(words: Sentence) -> bool:
    """Return whether these words are a person to whom something can be given."""
    if len(words) == 1:
        return is_name(words[0]) or words[0] in en.SUBJECTS
    return words[0] in en.DETERMINERS and words[-1] in ev.RELATIVES


def _is_definite(words: Sentence) -> bool:
    return words[0] not in ("a", "an") and "and" not in words


def _other_case(words: Sentence, pronouns: dict[str, str]) -> Sentence:
    return (pronouns.get(words[0], words[0]),) if len(words) == 1 else words


def _verbs(helpers: Sequence[str], participle: str, *, is_one: bool) -> Iterator[Sentence]:
    """Yield the verb in the active voice, in every form that fits."""
    for base in en.VOICE_PARTICIPLES.get(participle, ()):
        yield from _simple(tuple(helpers), base, is_one=is_one)
        yield from _compound(tuple(helpers), participle, base, is_one=is_one)


def _simple(helpers: Sentence, base: str, *, is_one: bool) -> Iterator[Sentence]:
    match helpers:
        case ("was" | "were",):
            yield (en.past_of(base),)
        case ("was" | "were", "not"):
            yield ("did", "not", base)
        case ("is" | "are",):
            if is_one or en.past_of(base) != base:
                yield (en.third(base),) if is_one else (base,)
        case ("is" | "are", "not"):
            yield ("does" if is_one else "do", "not", base)
        case _:
            return


def _compound(helpers: Sentence, participle: str, base: str, *, is_one: bool) -> Iterator[Sentence]:
    match helpers:
        case ("will" | "must" | "should" | "can" | "may" | "might" | "would" as modal, "be"):
            yield (modal, base)
        case ("has" | "have", "been"):
            yield ("has" if is_one else "have", participle)
        case ("had", "been"):
            yield ("had", participle)
        case ("had", "not", "been"):
            yield ("had", "not", participle)
        case ("is" | "are", "being"):
            yield from (("is" if is_one else "are", ing) for ing in en.ings_of(base))
        case ("was" | "were", "being"):
            yield from (("was" if is_one else "were", ing) for ing in en.ings_of(base))
        case _:
            return
