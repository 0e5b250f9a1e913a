"""The voice: "Ann painted the fence" is "the fence was painted by Ann", never the other way."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nacre.patrol.compare import words as en
from nacre.patrol.compare.articles import agree, is_plural
from nacre.patrol.compare.reading import Sentence, Word
from nacre.patrol.compare.turning import time_at

_AFTER_AGENT = en.word_set("in on at during after before since yesterday today last")


_CLAUSES = en.CLAUSE_WORDS - {"and"}
_PHRASES = en.PREPOSITIONS - {"of"}


class _Passive(NamedTuple):
    """A passive clause, taken apart."""

    object: Sentence
    auxiliaries: tuple[str, ...]
    adverbs: Sentence
    participle: str
    between: Sentence
    agent: Sentence
    rest: Sentence


def same_by_voice(active: Sentence, passive: Sentence) -> bool:
    """Whether the second sentence is the first one in the passive."""
    return any(_fits(active, clause) for clause in _passives(passive))


def _passives(words: Sentence) -> Iterator[_Passive]:
    texts = [word.text for word in words]
    if texts.count("by") != 1 or "," in texts:
        return
    start = next((place for place, text in enumerate(texts) if text in _FIRST), None)
    if start is None or start == 0:
        return
    place = start
    auxiliaries: list[str] = []
    while place < len(texts) and texts[place] in en.AUXILIARIES | {"not"}:
        auxiliaries.append(texts[place])
        place += 1
    adverb = place
    while place < len(texts) and texts[place].endswith("ly") and texts[place] not in en.FOCUS:
        place += 1
    by = texts.index("by")
    if place >= by or not set(auxiliaries) & en.BE or by + 1 >= len(texts):
        return
    subject = words[:start]
    # A phrase behind the object would belong to the verb in the active voice.
    if {word.text for word in subject if not word.article} & (_CLAUSES | en.VERBS | _PHRASES):
        return
    parts = (
        subject,
        tuple(auxiliaries),
        words[adverb:place],
        texts[place],
        words[place + 1 : by],
    )
    for end in range(by + 2, len(words) + 1):
        agent, rest = words[by + 1 : end], words[end:]
        is_adjunct = not rest or rest[0].text in _AFTER_AGENT or time_at(rest, 0) > 0
        if _is_agent(agent) and is_adjunct:
            yield _Passive(*parts, agent, rest)


_FIRST = en.AUXILIARIES


def _is_agent(words: Sentence) -> bool:
    head = words[-1].text
    return (
        not {word.text for word in words} & {*en.NOT_AGENTS, *_CLAUSES, *_PHRASES}
        and not {word.text for word in words[1:]} & en.VERBS
        and not head.endswith(("ing", "self", "selves"))
        and not head.isdecimal()
        and "of" not in (head, words[0].text)
    )


def _fits(active: Sentence, passive: _Passive) -> bool:
    subject = _as(passive.agent, en.OBJECTS)
    for ending in _endings(passive):
        middle = active[len(subject) : len(active) - len(ending)]
        if len(active) <= len(subject) + len(ending):
            continue
        if (
            agree(active[: len(subject)], subject)
            and agree(active[len(active) - len(ending) :], ending)
            and _same_verb(middle, passive)
            and not _is_scope(passive)
        ):
            return True
    return False


def _endings(passive: _Passive) -> Iterator[Sentence]:
    """Give what the active sentence may end in: the object, and what stood beside the verb."""
    target = _as(passive.object, en.SUBJECTS)
    yield (*target, *passive.between, *passive.rest)
    if passive.between and passive.rest:
        yield (*target, *passive.rest, *passive.between)


def _is_scope(passive: _Passive) -> bool:
    """Whether two words that count or deny would change places."""
    parts = (passive.object, passive.agent)
    counts = [any(word.text in _COUNTS or word.text.isdecimal() for word in part) for part in parts]
    is_any = [any(word.article == "a" for word in part) for part in parts]
    is_denied = bool(set(passive.auxiliaries) & en.NEGATIVES)
    return (
        all(counts)
        or (counts[0] and is_any[1])
        or (counts[1] and is_any[0])
        or (is_denied and any((*counts, *is_any)))
    )


_COUNTS = en.QUANTIFIERS | en.NEGATIVES


def _as(words: Sentence, pronouns: dict[str, str]) -> Sentence:
    if len(words) == 1 and words[0].text in pronouns:
        return (Word(pronouns[words[0].text]),)
    return words


def _same_verb(middle: Sequence[Word], passive: _Passive) -> bool:
    """Whether the words between subject and object are the verb that the passive has."""
    if any(word.article for word in middle):
        return False
    texts = [word.text for word in middle]
    adverbs = [word.text for word in passive.adverbs]
    if adverbs:
        if texts[-len(adverbs) - 1 : -1] != adverbs:
            return False
        del texts[-len(adverbs) - 1 : -1]
    if not texts:
        return False
    *helpers, verb = texts
    return (_tense(helpers), verb) in set(_actives(passive))


def _actives(passive: _Passive) -> Iterator[tuple[tuple[str, ...], str]]:
    """Give the helpers and the verb of the active voice, all that fit the participle."""
    helpers = tuple(word for word in passive.auxiliaries if word != "not")
    deny = ("not",) if "not" in passive.auxiliaries else ()
    part = passive.participle
    match helpers:
        case ("was",) | ("were",) if deny:
            yield from ((("did", "not"), base) for base in _bases(part))
        case ("was",) | ("were",):
            yield from (((), past) for past in _pasts(part))
        case ("is",) | ("are",) | ("am",) if deny:
            yield from ((("do", "not"), base) for base in _bases(part))
        case ("is",) | ("are",) | ("am",):
            forms = (form for base in _bases(part) for form in _present(base, passive.agent))
            yield from (((), form) for form in forms)
        case (modal, "be") if modal in en.MODALS:
            yield from (((modal, *deny), base) for base in _bases(part))
        case ("has" | "have" | "had", "been"):
            yield (*_tense(helpers[:1]), *deny), part
        case (being, "being") if being in en.BE:
            ings = (ing for base in _bases(part) for ing in _ings(base))
            yield from (((*_tense((being,)), *deny), ing) for ing in ings)


def _present(base: str, agent: Sentence) -> list[str]:
    """Return the forms of the present that an agent may have, if they are not the past as well."""
    head = agent[-1].text
    if head in ("him", "her"):
        return [en.third(base)]
    is_several = head in en.OBJECTS or head == "you" or is_plural(head) or len(agent) > 2
    bare = [base] if is_several and base not in en.PASTS else []
    return [en.third(base), *bare]


def _tense(helpers: Sequence[str]) -> tuple[str, ...]:
    """Return helping verbs without what follows from the person they are about."""
    same = {"has": "have", "am": "is", "are": "is", "were": "was", "does": "do"}
    return tuple(same.get(word, word) for word in helpers)


def _pasts(participle: str) -> set[str]:
    irregular = {past for past, part in en.PASTS.items() if part == participle}
    return irregular or ({participle} if participle.endswith("ed") else set())


def _bases(participle: str) -> set[str]:
    known = {base for base in en.BASES if participle in en.participles_of(base)}
    if known or not participle.endswith("ed"):
        return known
    stem = participle[:-2]
    found = {stem, participle[:-1]}
    if stem.endswith("i"):
        found = {stem[:-1] + "y"}
    elif len(stem) > 2 and stem[-1] == stem[-2]:
        found.add(stem[:-1])
    return found


def _ings(base: str) -> set[str]:
    if base.endswith("e") and not base.endswith("ee"):
        return {base[:-1] + "ing"}
    return {base + "ing", base + base[-1] + "ing"}
