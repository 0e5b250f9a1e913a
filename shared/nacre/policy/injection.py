"""Find text that tries to instruct a model: a heuristic that explains itself, not a proof."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nacre.policy.injection_mentions import is_mentioned, quotations
from nacre.policy.injection_rules import (
    EXPLANATIONS,
    OWN_BUDGET,
    RULES,
    InjectionRule,
)
from nacre.policy.injection_text import Reading, Span, readings, squeezed
from nacre.policy.own_patterns import own_matches
from nacre.policy.sections import SOURCES, InjectionSection, Source

MARK = "[removed by policy: {}]"

_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,12}\U000e007f")
_TAGS = re.compile("[\U000e0001-\U000e007f]{3,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
# Joiners are letters' business in Persian and in emoji, never between Latin letters.
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\u3164\uffa0\ufff9-\ufffb]"
    "|(?<=[A-Za-z])[\ufe00-\ufe0f]|[\u0300-\u036f]{3,}|[\U0001d400-\U0001d7ff]{3,}"
    "|[\u24b6-\u24e9\U0001f110-\U0001f189]{3,}|[\ue000-\uf8ff\U000f0000-\U0010ffff]|(?<!^)\ufeff"
    "|(?<=[A-Za-z .,])[\u200c\u200d]|[\u200c\u200d](?=[A-Za-z])"
)
_FOREIGN_WORD = re.compile(
    r"\w{0,40}[\u0400-\u04ff\u0391-\u03a8\u03b1\u03b5\u03b9\u03bd-\u03c1\u03c4\u03c5\u03c7]\w{0,40}"
)
_LATIN = re.compile(r"[A-Za-z]{2}|[A-Za-z].*[A-Za-z]")
_WORD = re.compile(r"\b[^\W\d_]{4,}\b")


_SENTENCE = re.compile(r"[.!?;:\n>]")
# What may stand in a purpose, unless it says this.
_PURPOSES = {
    "exfiltration": re.compile(r"attacker|evil|exfil|collector"),
    "prompt-extraction": re.compile(r"your|system prompt|hidden|above"),
}
_RULES = {
    kind: [rule for rule in RULES if rule.patterns and kind in rule.kinds] for kind in SOURCES
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that a rule objects to; the span is one of the text as given."""

    rule: str
    explanation: str
    start: int
    end: int


def scan(text: str, *, kind: Source, section: InjectionSection) -> tuple[Finding, ...]:
    """Return what the section's rules find in a text of this kind, in its order."""
    if section.action == "off" or kind not in section.sources or not text:
        return ()
    found: dict[tuple[str, Span], None] = {}
    if section.builtin:
        for rule, span in _built_in(text, kind):
            if rule not in section.without:
                found[rule, span] = None
    if section.patterns:
        found |= dict.fromkeys(_own(text, section))
    return tuple(
        Finding(rule, EXPLANATIONS.get(rule, "matches a pattern of this policy"), *span)
        for rule, span in _outermost(found)
    )


def _outermost(found: Iterable[tuple[str, Span]]) -> Iterator[tuple[str, Span]]:
    """Yield places in their order, without those inside another one of the same rule."""
    ends: dict[str, int] = {}
    for rule, (start, end) in sorted(found, key=lambda each: (each[1][0], -each[1][1], each[0])):
        if end > ends.get(rule, -1):
            ends[rule] = end
            yield rule, (start, end)


def said(findings: tuple[Finding, ...]) -> str:
    """Say in one line why a text was held back, without repeating it."""
    rules = {each.rule: each.explanation for each in findings}
    return "; ".join(f"{rule}: {explanation}" for rule, explanation in rules.items())


def mask(text: str, findings: tuple[Finding, ...]) -> str:
    """Return the text with every finding replaced by a mark that names its rule."""
    parts: list[str] = []
    end = 0
    for finding in sorted(findings, key=lambda each: (each.start, -each.end)):
        if finding.start < end:
            end = max(end, finding.end)
            continue
        parts += (text[end : finding.start], MARK.format(finding.rule))
        end = finding.end
    return "".join((*parts, text[end:]))


def _own(text: str, section: InjectionSection) -> Iterator[tuple[str, Span]]:
    given = Reading(text, "given", lambda span: span)
    for reading in (given, *readings(text)):
        for match in own_matches(reading.text, section.patterns):
            if match is None:
                yield OWN_BUDGET, (0, len(text))
                return
            yield match[0], reading.place(match[1])


def _built_in(text: str, kind: Source) -> Iterator[tuple[str, Span]]:
    if not text.isascii():
        yield from _unseen(text, kind)
    rules = _RULES[kind]
    for reading in readings(text):
        yield from _matches(reading, rules, kind)
        letters = squeezed(reading)
        if letters is not None:
            for rule in rules:
                for pattern in rule.compiled_squeezed():
                    for match in pattern.finditer(letters.text):
                        span = letters.place(match.span())
                        # Whole words are for the plain reading, which knows quotations.
                        if len(_WORD.findall(text, *span)) < 2:
                            yield rule.id, span


def _matches(
    reading: Reading, rules: list[InjectionRule], kind: Source
) -> Iterator[tuple[str, Span]]:
    low = reading.text
    quotes: list[Span] | None = None
    for rule in rules:
        if rule.decoded and reading.way == "plain":
            continue
        if not rule.is_hinted(low):
            continue
        for pattern in rule.compiled():
            for match in pattern.finditer(low):
                if kind == "definition" and _is_purpose(rule, low, match):
                    continue
                if rule.quotable:
                    if quotes is None:
                        quotes = quotations(low)
                    if is_mentioned(low, match.span(), quotes, in_definition=kind == "definition"):
                        continue
                yield rule.id, reading.place(match.span())


def _is_purpose(rule: InjectionRule, low: str, match: re.Match[str]) -> bool:
    """Tell whether a tool's first sentence just says what it sends or shows."""
    telling = _PURPOSES.get(rule.id)
    return (
        telling is not None
        and _SENTENCE.search(low, 0, match.start()) is None
        and telling.search(match[0]) is None
    )


def _unseen(text: str, kind: Source) -> Iterator[tuple[str, Span]]:
    flags = [each.span() for each in _FLAG.finditer(text)]
    for match in _TAGS.finditer(text):
        if not any(start <= match.start() and match.end() <= end for start, end in flags):
            yield "invisible-text", match.span()
    for match in _SELECTORS.finditer(text):
        yield "invisible-text", match.span()
    if kind != "definition":
        return
    for match in _INVISIBLE.finditer(text):
        yield "invisible-text", match.span()
    for match in _FOREIGN_WORD.finditer(text):
        if _LATIN.search(match[0]):
            yield "mixed-scripts", match.span()
