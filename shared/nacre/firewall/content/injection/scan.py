"""Find text that tries to instruct a model, by a heuristic that explains its findings."""

import re
from collections.abc import Callable, Iterable, Iterator

from nacre.core.lazy_dataclasses import dataclass
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
# Characters scanned at once. Findings are much shorter than the overlap, so no cut hides one.
_PIECE, _OVERLAP = 60_000, 4_000

_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,12}\U000e007f")
_TAGS = re.compile("[\U000e0001-\U000e007f]{3,}")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
# Joiners belong in Persian and in emoji, but never between Latin letters.
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
# Features that a tool's stated purpose may have, unless the pattern matches.
_PURPOSES = {
    "exfiltration": re.compile(r"attacker|evil|exfil|collector"),
    "prompt-extraction": re.compile(r"your|system prompt|hidden|above"),
}
_RULES = {
    kind: [rule for rule in RULES if rule.patterns and kind in rule.kinds] for kind in SOURCES
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One place that a rule objects to; the span refers to the original text."""

    rule: str
    explanation: str
    start: int
    end: int


def scan(text: str, *, kind: Source, section: InjectionSection) -> tuple[Finding, ...]:
    """Return the findings of the section's rules in a text of this kind, in order."""
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
        findings += _custom(text, section)
    return tuple(_outermost(findings))


def _outermost(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings in their order, without those inside another one of the same rule."""
    ends: dict[str, int] = {}
    for finding in sorted(
        findings, key=lambda finding: (finding.start, -finding.end, finding.rule)
    ):
        if finding.end > ends.get(finding.rule, -1):
            ends[finding.rule] = finding.end
            yield finding


def describe(findings: tuple[Finding, ...]) -> str:
    """Return the reasons for blocking a text in one line, without quoting it."""
    rules = {finding.rule: finding.explanation for finding in findings}
    return "; ".join(f"{rule}: {explanation}" for rule, explanation in rules.items())


def mask(text: str, findings: tuple[Finding, ...]) -> str:
    """Return the text with every finding replaced by a mark that names its rule."""
    parts: list[str] = []
    end = 0
    for finding in sorted(findings, key=lambda finding: (finding.start, -finding.end)):
        if finding.start < end:
            end = max(end, finding.end)
            continue
        parts += (text[end : finding.start], MARK.format(finding.rule))
        end = finding.end
    return "".join((*parts, text[end:]))


def _custom(text: str, section: InjectionSection) -> Iterator[Finding]:
    plain = Reading(text, "given", lambda span: span)
    for reading in (plain, *readings(text)):
        for match in own_matches(reading.text, section.patterns):
            if match is None:
                yield _finding(OWN_BUDGET, (0, len(text)))
                return
            span = reading.place(match[1])
            yield Finding(match[0], "matches a pattern of this policy", *span)


def _built_in(text: str, section: InjectionSection, kind: Source) -> Iterator[Finding]:
    if not text.isascii():
        for rule, span in _hidden_characters(text, kind):
            yield _finding(rule, span)
    for reading in readings(text):
        for rule, span in _matches(reading, _RULES[kind], kind):
            yield _finding(rule, span)
        for piece in _pieces(reading):
            text_tokens = tokens(piece.text)
            parts = halves(piece.text, text_tokens)
            worded = [] if WORDING in section.without else stretches(parts, text_tokens)
            words = {word for half in parts for word in half.words}
            hits = evidence(piece.text, text_tokens, words, worded)
            yield from _places(piece, text_tokens, hits, worded, section, kind)
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
    letter_tokens = squeezed_tokens(letters.text)
    hits = [
        hit
        for hit in evidence(letters.text, letter_tokens)
        if hit.id in SQUEEZED
        and hit.weight >= STRONG
        # The plain reading covers whole words, because it recognises quotations.
        and len(_WORD.findall(text, *letters.place((hit.start, hit.end)))) < 2
    ]
    yield from _places(letters, letter_tokens, hits, [], section, kind)


def _finding(rule: str, span: Span) -> Finding:
    return Finding(rule, EXPLANATIONS[rule], *span)


def _places(
    reading: Reading,
    text_tokens: list[Token],
    hits: list[Evidence],
    worded: list[Stretch],
    section: InjectionSection,
    kind: Source,
) -> Iterator[Finding]:
    """Yield a finding for each place of a reading whose features add up to the threshold."""
    if section.without:
        hits = [hit for hit in hits if hit.id not in section.without]
    if next(places(hits, text_tokens, reading.way, worded), None) is None:
        return
    is_about_attacks = sum(1 for token in text_tokens if token.classes & Word.SECURITY) > 1
    hits = [hit for hit in hits if not _is_harmless(reading.text, hit, kind, is_about_attacks)]
    for place in places(hits, text_tokens, reading.way, worded):
        yield Finding(*_explained(place, text_tokens), *reading.place((place.start, place.end)))


def _explained(place: Place, text_tokens: list[Token]) -> tuple[str, str]:
    """Return the strongest feature of a place, and the explanation with the other features.

    The wording comes last, because hand-written features explain more.
    """
    rules = sorted(place.scores, key=lambda rule: (rule == WORDING, -place.scores[rule]))
    explanation = EXPLANATIONS[rules[0]]
    if len(rules) > 1:
        explanation += f" (with {', '.join(rules[1:])})"
    elif rules == [WORDING]:
        inside = [token for token in text_tokens if place.start <= token.start < place.end]
        names = wording().names(inside)[:4]
        explanation += f" (words for {', '.join(names)})" if names else ""
    return rules[0], explanation


def _matches(
    reading: Reading, rules: list[InjectionRule], kind: Source
) -> Iterator[tuple[str, Span]]:
    text = reading.text
    for rule in rules:
        if (rule.decoded and reading.way == "plain") or not rule.is_hinted(text):
            continue
        for pattern in rule.compiled():
            for match in pattern.finditer(text):
                if not (rule.quotable and _is_mentioned(text, match.span(), kind)):
                    yield rule.id, reading.place(match.span())


def _is_harmless(text: str, hit: Evidence, kind: Source, is_about_attacks: bool) -> bool:
    """Tell whether words are only quoted, forbidden or the declared purpose of a tool.

    With `is_about_attacks` the text speaks of attacks, so its quotations are examples.
    """
    span = (hit.start, hit.end)
    if kind == "definition" and _is_purpose(hit.id, text, span):
        return True
    if is_about_attacks and any(
        start <= hit.start and hit.end <= end for start, end in quotations(text)
    ):
        return True
    return _is_mentioned(text, span, kind)


def _is_mentioned(text: str, span: Span, kind: Source) -> bool:
    return is_mentioned(text, span, quotations(text), in_definition=kind == "definition")


def _is_purpose(rule: str, text: str, span: Span) -> bool:
    """Tell whether a tool's first sentence only describes what the tool sends or shows."""
    suspicious = _PURPOSES.get(rule)
    return (
        suspicious is not None
        and _SENTENCE.search(text, 0, span[0]) is None
        and suspicious.search(text, *span) is None
    )


def _hidden_characters(text: str, kind: Source) -> Iterator[tuple[str, Span]]:
    flags = [match.span() for match in _FLAG.finditer(text)]
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
