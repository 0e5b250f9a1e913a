"""The expression of time in a query: the range of days it means, and the rest of the query."""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime

from nacre.core.lazy_dataclasses import dataclass
from nacre.text.time_expressions.days import Days
from nacre.text.time_expressions.grammar import Grammar, Match
from nacre.text.time_expressions.lexicon import (
    Lexicon,
    folded,
    spaced_lexicons,
    unspaced_lexicons,
)
from nacre.text.time_expressions.moment import Moment
from nacre.text.time_expressions.rules import SILENT
from nacre.text.time_expressions.tokens import Token, tokens_of

_LONGEST_QUERY = 400  # characters; the words of time in a pasted text are not about the question
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_DIGIT_OR_CJK = re.compile("[\\d\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_SENTENCE_ENDS = ("", ".", "!", "?", "\u2026", ":", "(", "\u00bf", "\u00a1", "\u2013")
_KANA = re.compile("[\u3040-\u30ff]")
_QUOTED = (
    '"[^"]*"|\u201c[^\u201d]*\u201d|\u201e[^\u201c\u201d]*[\u201c\u201d]|\u00ab[^\u00bb]*\u00bb'
    "|\u300c[^\u300d]*\u300d|\u300e[^\u300f]*\u300f|\u300a[^\u300b]*\u300b"
    "|(?<!\\w)'[^']*'(?!\\w)|(?<!\\w)\u2018[^\u2019]*\u2019(?!\\w)"
)
_WORD = re.compile(r"[^\W\d_]+")
_WEEKDAYS = frozenset({"weekday", "weak_weekday"})
_EMPTY = frozenset({"plain", "empty"}) | SILENT
_OWN_CAPITAL = frozenset({"month", "weak_month", "season", "unit"}) | _WEEKDAYS  # some nouns


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """Words of time in a query, the days that they mean, and the query without them.

    `is_all` says that the rest names nothing to search for, as in "what happened yesterday?"
    """

    words: str
    days: Days
    rest: str
    is_all: bool = False


def find_time(query: str, now: datetime) -> TimeExpression | None:
    """Return the expression of time in a query, or None; `now` is the caller's clock and zone.

    Of several the first one about the past is taken. Quoted words, titles in capitals and words
    that mean a time only at other places ("may", "second") are left alone.
    """
    if len(query) > _LONGEST_QUERY or not _may_have_time(query):
        return None
    best: TimeExpression | None = None
    likely = _likely(query)
    for lexicon in likely:
        expression = _in_language(query, lexicon, now)
        if expression and _is_name(expression.words, likely):
            continue
        if expression and (best is None or len(expression.words) > len(best.words)):
            best = expression
    return best


def _may_have_time(query: str) -> bool:
    """Return whether a query has a number or a word that some expression of time is made of."""
    if _DIGIT_OR_CJK.search(query):
        return True
    words = {folded(word) for word in _WORD.findall(query)}
    return any(not words.isdisjoint(lexicon.signals) for lexicon in spaced_lexicons())


def _likely(query: str) -> Sequence[Lexicon]:
    """Return the lexicons of the languages that share most words with the query."""
    if _CJK.search(query):
        japanese, chinese = unspaced_lexicons()
        return [japanese] if _KANA.search(query) else [chinese, japanese]
    words = [folded(word) for word in _WORD.findall(query)]
    lexicons = spaced_lexicons()
    counts = [sum(word in lexicon.words for word in words) for lexicon in lexicons]
    most = max(counts)
    return [lexicon for lexicon, count in zip(lexicons, counts, strict=True) if count == most]


def _is_name(words: str, likely: Sequence[Lexicon]) -> bool:
    """Return whether a month of one likely language is a name or a verb in English: April."""
    return likely[0].is_english and "weak_month" in likely[0].phrases.get(folded(words), {})


def _in_language(query: str, lexicon: Lexicon, now: datetime) -> TimeExpression | None:
    tokens = tokens_of(query, lexicon)
    moment = Moment(now, month_first=lexicon.is_english)
    quotes = [match.span() for match in re.finditer(_QUOTED, query)]
    is_loud = query.isupper()
    matches = [
        match
        for match in Grammar(tokens, moment, spaced=lexicon.spaced).matches()
        if not _is_quoted(tokens[match.start].start, quotes)
        and (is_loud or not _is_title(query, tokens, match))
        and not _is_other(tokens, match)
    ]
    if not matches:
        return None
    match = next((match for match in matches if _is_past(match.days, now.date())), matches[0])
    start, end = tokens[match.start].start, tokens[match.end - 1].end
    others = [*tokens[: match.start], *tokens[match.end :]]
    is_all = all(_is_empty(token) for token in others)
    return TimeExpression(query[start:end], match.days, _without(query, start, end), is_all)


def _is_past(days: Days, today: date) -> bool:
    return days.first is None or days.first < today or days.last == today


def _is_empty(token: Token) -> bool:
    return not token.kinds.keys().isdisjoint(_EMPTY) or not any(map(str.isalnum, token.text))


def _without(query: str, start: int, end: int) -> str:
    before, after = query[:start].rstrip(" ,;:-"), query[end:].lstrip(" ,;:-")
    is_joined = _CJK.match(before[-1:]) or _CJK.match(after[:1]) or after[:1] in _SENTENCE_ENDS
    space = "" if is_joined else " "
    return f"{before}{space}{after}".strip()


def _is_quoted(place: int, quotes: Iterable[tuple[int, int]]) -> bool:
    return any(start < place < end for start, end in quotes)


def _is_title(query: str, tokens: Sequence[Token], match: Match) -> bool:
    """Return whether a word that is written small elsewhere has a capital: "USA Today"."""
    words = tokens[match.start : match.end]
    if any(_is_capital(query, token) and _is_small(token) for token in words):
        return True
    before, after = tokens[: match.start][-1:], tokens[match.end :][:1]
    is_capital = _is_capital(query, words[-1])
    if "season" in words[-1].kinds:
        return is_capital and any(_is_capital(query, token) for token in after)  # Spring Fling
    if not _WEEKDAYS.isdisjoint(words[0].kinds):
        return is_capital and any(_is_capital(query, token) for token in before)  # Black Friday
    return words[-1].text == "today" and query[words[-1].end :][:1] in ("'", "\u2019")


def _is_capital(query: str, token: Token) -> bool:
    """Return whether a word has a capital for another reason than that a sentence begins."""
    return query[token.start].isupper() and query[: token.start].rstrip()[-1:] not in _SENTENCE_ENDS


def _is_small(token: Token) -> bool:
    return not _OWN_CAPITAL.intersection(token.kinds) and not token.kinds.keys().isdisjoint(
        ("day", "rel", "tomorrow")
    )


def _is_other(tokens: Sequence[Token], match: Match) -> bool:
    """Return whether this is a habit ("on Monday mornings") or somebody's last week."""
    is_habit = match.end < len(tokens) and "habit" in tokens[match.end].kinds
    return is_habit or (match.start > 0 and "mine" in tokens[match.start - 1].kinds)
