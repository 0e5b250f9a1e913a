"""The statements about oneself, one's people and one's plans in a message.

The rules prefer to miss a statement to inventing one. They leave out questions, requests, code,
quotes and texts that somebody gives to work on.
"""

import re
from collections.abc import Iterator

from nacre.text.stated_facts.english import ENGLISH
from nacre.text.stated_facts.german import GERMAN
from nacre.text.stated_facts.speech import Speech

_LONGEST_MESSAGE = 3000  # longer ones are pasted
_LONGEST = 300  # characters of a statement
_FEWEST_WORDS = 4
_EDGES = " ,;:-\u2013\u2014!."
_CODE = re.compile(r"`|\\[(\[]|\$\$|[{};]\s*$|</\w+>|==|->", re.MULTILINE)
_CLAUSE = re.compile(
    r"[,;]?\s+(?:[-\u2013\u2014]\s+)?(?=(?:(?:and|but|so|since|because|plus|und|aber|weil|denn)\s+)?(?:i|i'\w+|i\u2019\w+|my|we|we'\w+|our|ich|wir|mein\w*)\s)",
    re.IGNORECASE,
)
_QUOTED_LINE = re.compile(
    r"^\s*(?:>|\||#|[-*\u2022]\s|\d+[.)]\s|[A-Za-z ]{1,20}:\s).*$", re.MULTILINE
)
_QUOTE = re.compile(
    '"[^"]{25,}"|\u201c[^\u201d]{25,}\u201d|\u201e[^\u201c\u201d]{25,}[\u201c\u201d]'
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+(?=\s|$)|[.!?](?=\S)[^.!?\n]*)*[.!?]*")
_GERMAN = re.compile(
    r"\b(?:ich|wir|mein|meine|und|nicht|ist|das|der|die|mit|habe|ein)\b", re.IGNORECASE
)
_ENGLISH = re.compile(r"\b(?:i|we|my|and|not|is|the|with|have|a|to|of|was)\b", re.IGNORECASE)
_UNCLEAR = re.compile(
    r"""\b(?:it|that|this|them|those|these|there|so|one|ones|das|es|dort|sie|davon|damit|
    with|of|for|in|at|on|to|from|by|about|to\s+see|to\s+know|once\s+i\s+\w+|you\s+know)$
    |^(?:\S+\s+){1,4}(?:them|one|ones|those|a\s+big\s+one)\b|\btime\s+anchor\b""",
    re.IGNORECASE | re.VERBOSE,
)


def stated_facts(message: str) -> tuple[str, ...]:
    """Return the statements in a message that its writer makes about their own life, as said."""
    if len(message) > _LONGEST_MESSAGE or _CODE.search(message):
        return ()
    text = message
    speech = GERMAN if len(_GERMAN.findall(text)) > len(_ENGLISH.findall(text)) else ENGLISH
    if speech.task.search(text):
        return ()
    text = _QUOTE.sub(" \u2026 ", _QUOTED_LINE.sub("", text))
    return tuple(dict.fromkeys(_statements(text, speech)))


def _statements(text: str, speech: Speech) -> Iterator[str]:
    for sentence in _SENTENCE.finditer(text):
        whole = " ".join(sentence.group().split())
        said: list[str] = []
        for clause in _clauses(whole):
            statement = _statement(clause, speech, asks=whole.endswith("?"))
            if statement:
                said.append(statement)
            elif said:
                break
        fact = ", ".join([*said[:1], *(f"and {clause}" for clause in said[1:])])
        if fact and len(fact) <= _LONGEST:
            yield fact[0].upper() + fact[1:]


def _clauses(sentence: str) -> Iterator[str]:
    """Yield the parts of a sentence that each begin with a subject: "I ran, and my dog slept"."""
    start = 0
    for cut in _CLAUSE.finditer(sentence):
        if (cut.start() > start and sentence[cut.start()] in ",;") or "\u2013" in cut.group():
            yield sentence[start : cut.start()]
            start = cut.end()
    yield sentence[start:]


def _statement(clause: str, speech: Speech, *, asks: bool) -> str:
    """Return the statement that a clause begins with, or "" for none."""
    lead = speech.lead.match(clause)
    clause = clause[lead.end() :] if lead else clause
    question = speech.question.search(clause)
    if question is not None:
        clause = clause[: question.start()]
    elif asks and clause.endswith("?"):
        return ""
    clause = clause.strip(_EDGES)
    return clause if _is_fact(clause, speech) else ""


def _is_fact(clause: str, speech: Speech) -> bool:
    when = speech.when.match(clause)
    core = clause[when.end() :] if when else clause
    return (
        _FEWEST_WORDS <= len(clause.split()) <= 60
        and speech.statement.match(core) is not None
        and speech.request.match(core) is None
        and speech.hedge.search(clause) is None
        and _UNCLEAR.search(clause) is None
        and "\u2026" not in clause
    )
