"""Find text that tries to instruct a model: a heuristic that explains itself, not a proof."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from nacre.firewall.content.custom_patterns import own_matches
from nacre.firewall.content.injection.features import (
    SQUEEZED,
    STRONG,
    WORDING,
    Evidence,
    Place,
    evidence,
    places,
)
from nacre.firewall.content.injection.mentions import is_mentioned, quotations
from nacre.firewall.content.injection.normalized_text import Reading, Span, readings, squeezed
from nacre.firewall.content.injection.rules import EXPLANATIONS, OWN_BUDGET, RULES, InjectionRule
from nacre.firewall.content.injection.tokens import Token, squeezed_tokens, tokens
from nacre.firewall.content.injection.wording import Stretch, halves, stretches, wording
from nacre.firewall.content.injection.words import Word
from nacre.firewall.rules.sections import SOURCES, InjectionSection, Source

MARK = "[removed by policy: {}]"
# Characters that are looked at together; a place of features is much shorter than the overlap.
_PIECE, _OVERLAP = 60_000, 4_000

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
    findings: list[Finding] = []
    if section.builtin:
        findings += (
            finding
            for finding in _built_in(text, section, kind)
            if finding.rule not in section.without
        )
    if section.patterns:
        findings += _own(text, section)
    return tuple(_outermost(findings))


def _outermost(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings in their order, without those inside another one of the same rule."""
    ends: dict[str, int] = {}
    for finding in sorted(findings, key=lambda each: (each.start, -each.end, each.rule)):
        if finding.end > ends.get(finding.rule, -1):
            ends[finding.rule] = finding.end
            yield finding


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


def _own(text: str, section: InjectionSection) -> Iterator[Finding]:
    given = Reading(text, "given", lambda span: span)
    for reading in (given, *readings(text)):
        for match in own_matches(reading.text, section.patterns):
            if match is None:
                yield _finding(OWN_BUDGET, (0, len(text)))
                return
            span = reading.place(match[1])
            yield Finding(match[0], "matches a pattern of this policy", *span)


def _built_in(text: str, section: InjectionSection, kind: Source) -> Iterator[Finding]:
    if not text.isascii():
        for rule, span in _unseen(text, kind):
            yield _finding(rule, span)
    for reading in readings(text):
        for rule, span in _matches(reading, _RULES[kind], kind):
            yield _finding(rule, span)
        for piece in _pieces(reading):
            found = tokens(piece.text)
            parts = halves(piece.text, found)
            worded = [] if WORDING in section.without else stretches(parts, found)
            words = {word for half in parts for word in half.words}
            hits = evidence(piece.text, found, words, worded)
            yield from _places(piece, found, hits, worded, section, kind)
            letters = squeezed(piece)
            if letters is not None:
                yield from _scrambled(text, letters, section, kind)


def _pieces(reading: Reading) -> Iterator[Reading]:
    """Yield a reading in overlapping pieces, so that a long text needs little memory."""
    size = len(reading.text)
    if size <= _PIECE:
        yield reading
        return
    for start in range(0, size - _OVERLAP, _PIECE - _OVERLAP):
        yield Reading(reading.text[start : start + _PIECE], reading.way, _shifted(reading, start))


def _shifted(reading: Reading, by: int) -> Callable[[Span], Span]:
    return lambda span: reading.place((span[0] + by, span[1] + by))


def _scrambled(
    text: str, letters: Reading, section: InjectionSection, kind: Source
) -> Iterator[Finding]:
    found = squeezed_tokens(letters.text)
    hits = [
        hit
        for hit in evidence(letters.text, found)
        if hit.id in SQUEEZED
        and hit.weight >= STRONG
        # Whole words are for the plain reading, which knows quotations.
        and len(_WORD.findall(text, *letters.place((hit.start, hit.end)))) < 2
    ]
    yield from _places(letters, found, hits, [], section, kind)


def _finding(rule: str, span: Span) -> Finding:
    return Finding(rule, EXPLANATIONS[rule], *span)


def _places(
    reading: Reading,
    found: list[Token],
    hits: list[Evidence],
    worded: list[Stretch],
    section: InjectionSection,
    kind: Source,
) -> Iterator[Finding]:
    """Yield a finding for each place of a reading whose features add up to the threshold."""
    if section.without:
        hits = [hit for hit in hits if hit.id not in section.without]
    if next(places(hits, found, reading.way, worded), None) is None:
        return
    is_about = sum(1 for token in found if token.classes & Word.SECURITY) > 1
    hits = [hit for hit in hits if not _is_harmless(reading.text, hit, kind, is_about)]
    for place in places(hits, found, reading.way, worded):
        yield Finding(*_explained(place, found), *reading.place((place.start, place.end)))


def _explained(place: Place, found: list[Token]) -> tuple[str, str]:
    """Return the strongest feature of a place, and what it and the others say.

    A wording is named last: a feature that was written by hand says more.
    """
    rules = sorted(place.scores, key=lambda rule: (rule == WORDING, -place.scores[rule]))
    explanation = EXPLANATIONS[rules[0]]
    if len(rules) > 1:
        explanation += f" (with {', '.join(rules[1:])})"
    elif rules == [WORDING]:
        inside = [token for token in found if place.start <= token.start < place.end]
        names = wording().names(inside)[:4]
        explanation += f" (words for {', '.join(names)})" if names else ""
    return rules[0], explanation


def _matches(
    reading: Reading, rules: list[InjectionRule], kind: Source
) -> Iterator[tuple[str, Span]]:
    low = reading.text
    for rule in rules:
        if (rule.decoded and reading.way == "plain") or not rule.is_hinted(low):
            continue
        for pattern in rule.compiled():
            for match in pattern.finditer(low):
                if not (rule.quotable and _is_mentioned(low, match.span(), kind)):
                    yield rule.id, reading.place(match.span())


def _is_harmless(low: str, hit: Evidence, kind: Source, is_about: bool) -> bool:
    """Tell whether words are only quoted, forbidden or the declared purpose of a tool.

    `is_about`: the text speaks of attacks, so what it quotes is an example.
    """
    span = (hit.start, hit.end)
    if kind == "definition" and _is_purpose(hit.id, low, span):
        return True
    if is_about and any(start <= hit.start and hit.end <= end for start, end in quotations(low)):
        return True
    return _is_mentioned(low, span, kind)


def _is_mentioned(low: str, span: Span, kind: Source) -> bool:
    return is_mentioned(low, span, quotations(low), in_definition=kind == "definition")


def _is_purpose(rule: str, low: str, span: Span) -> bool:
    """Tell whether a tool's first sentence just says what it sends or shows."""
    telling = _PURPOSES.get(rule)
    return (
        telling is not None
        and _SENTENCE.search(low, 0, span[0]) is None
        and telling.search(low, *span) is None
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
