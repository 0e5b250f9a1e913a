"""A time at the beginning of a sentence, where it can only belong to the whole sentence.

Lists of times, subjects and verbs are closed: elsewhere a time may belong to a noun ("the trip on
Friday") or to another clause ("he promised to pay in March").
"""

import re

from nacre.being.patrol.same_meaning import event_words as ev
from nacre.being.patrol.same_meaning.english_words import word_set
from nacre.being.patrol.same_meaning.phrases import noun_phrase

_DAYS_DE = "Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag"
_MONTHS_DE = (
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|"
    "Frühling|Sommer|Herbst|Winter"
)
_TIME_DE = (
    rf"[Aa]m (?:{_DAYS_DE})|[Ii]m (?:{_MONTHS_DE})|[Ss]eit \d{{4}}|[Hh]eute|[Mm]orgen|[Gg]estern|"
    rf"[Jj]eden (?:{_DAYS_DE}|Morgen|Abend|Tag)|(?:[Nn]ächste|[Ll]etzte) Woche"
)
_SUBJECT_DE = r"(?:[Ii]ch|[Ww]ir|[Ee]r|[A-ZÄÖÜ][a-zäöüß]+)"
_GERMAN = re.compile(rf"({_TIME_DE}) ([a-zäöüß]+) ({_SUBJECT_DE})((?: [a-zäöüß].*)?)")

_INFINITIVE = re.compile(r" zu [a-zäöüß]+n\b| [a-zäöüß]+zu[a-zäöüß]+n\b")

_TIME_ZH = (
    "(?:每个?|下个?|上个?|这个?)?(?:星期|周)[一二三四五六日天]|每天|明天|昨天|今天|下个月|上个月|"
    "下周|上周|明年|去年|今年"
)
_SUBJECT_ZH = (
    "我们|他们|她们|我|他|她|爸爸|妈妈|爷爷|奶奶|哥哥|姐姐|弟弟|妹妹|小[王李张刘陈杨赵周吴]"
)
_CHINESE = re.compile(rf"({_TIME_ZH})(?:\uff0c|,)?({_SUBJECT_ZH})([^的和跟与、\uff0c,]+)")

_DAYS = "(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
_MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December|"
    "spring|summer|autumn|winter"
)
_TIME = (
    rf"[Oo]n {_DAYS}s?|[Ii]n (?:{_MONTHS}|\d{{4}})|[Yy]esterday|[Tt]omorrow|[Ss]ince \d{{4}}|"
    rf"[Ee]very (?:day|week|month|year|morning|evening|night|(?:other )?{_DAYS})|"
    rf"(?:[Nn]ext|[Ll]ast) (?:week|month|year|{_DAYS})|[Aa]t \d{{1,2}}:\d\d(?: [ap]m)?"
)
_ENGLISH = re.compile(rf"({_TIME}),? (.+)")
_VERBS = word_set(
    """
lives lived works worked visits visited repairs repaired broke feeds fed cleans cleaned
plays played uses died arrived arrives swims swam runs ran cooks
cooked teaches taught drinks eats closes opens
"""
)
# Words with which a sentence may have another clause, or a noun that the time belongs to.
_BESIDE = word_set(
    """
that who whom whose which what when where why how if because while until unless although
and or but not only to of for about from with before after during as than by since so
then in on at every next last just even also
"""
)


def with_late_time(text: str) -> str:
    """Return a sentence with its first words, if they are a time, where they may stand as well."""
    end = "." if text.endswith((".", "。")) else ""
    body = text[:-1] if end else text
    if (match := _GERMAN.fullmatch(body)) and not _INFINITIVE.search(match[4]):
        time, verb, subject, rest = match.groups()
        return f"{_upper(subject)} {verb} {_lower(time)}{rest}{end}"
    if match := _CHINESE.fullmatch(body):
        time, subject, rest = match.groups()
        return f"{subject}{time}{rest}{end}"
    if (match := _ENGLISH.fullmatch(body)) and _is_simple(match[2]):
        return f"{_upper(match[2])} {_lower(match[1])}{end}"
    return text


def _is_simple(sentence: str) -> bool:
    """Return whether a sentence is one clause with a verb of the list, and no time or place."""
    words = tuple(sentence.split(" "))
    verb = next((place for place, word in enumerate(words) if word in _VERBS), 0)
    subject = (words[0] if _is_capital(words[0]) else words[0].lower(), *words[1:verb])
    low = {word.lower() for word in words}
    return (
        3 <= len(words) <= 8
        and noun_phrase(subject, 0) == verb > 0
        and not _BESIDE & low
        and not (ev.QUANTIFIED | ev.NEGATIVE | ev.FOCUS | ev.ADVERBS | {"a", "an", "one"}) & low
        and not (ev.VERB_FORMS | ev.AUXILIARIES) & {*words[verb + 1 :]}
        and not any(word.endswith("ing") for word in words[verb + 1 :])
        and all(word.replace("'", "").isalpha() for word in words)
    )


def _is_capital(word: str) -> bool:
    """Return whether the first word is a name, and not an article or a possessive."""
    return word.lower() not in ev.DETERMINERS | ev.PRONOUNS


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
