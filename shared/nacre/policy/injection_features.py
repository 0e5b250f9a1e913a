"""The features that mark text as an instruction to a model, and what each of them weighs.

A feature is a few kinds of words close to each other, or a shape such as role markup. None of
them is a sentence, so a paraphrase still has them. The weights of the features in one place of
a text add up; at `THRESHOLD` the place is a finding.
"""

# ruff: noqa: E501 (a pattern broken over lines is harder to read)

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from nacre.policy.injection_tokens import Token
from nacre.policy.injection_words import Word as W  # noqa: N817 (it is in every line below)

THRESHOLD = 7
REACH = 35  # words: features further apart belong to different places
STRONG = 4  # what a feature must weigh to count in letters that were taken apart
_MORE = 3  # what further features of one kind add at most
_REPEATED = 12  # words: one feature repeated within them counts as one
_HIDDEN = 60  # words: as far as hidden markup is looked into
# What is looked for in letters that were taken apart or run together.
SQUEEZED = frozenset(
    ("override-instructions", "prompt-extraction", "guard-bypass", "exfiltration", "concealment")
)
# Readings that nobody writes for people.
_ENCODED = {"base64": 4, "hexadecimal": 4, "tag characters": 6, "rot13": 4, "reversed": 4}
_DISGUISED = 4
_MOST_EXTRA = max(_ENCODED.values()) + _DISGUISED
# Text that talks about attacks: what a place loses when so many terms stand around it.
_TALK, _TALK_TERMS, _ABOUT = 5, 3, 120


@dataclass(frozen=True, slots=True)
class Combination:
    """Words of given classes, each within `reach` words of the first.

    `ordered`: the others follow the first. `begins`: the first stands where an imperative may.
    """

    id: str
    weight: int
    needs: tuple[int, ...]
    reach: int
    ordered: bool = False
    begins: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern over the folded text; the text must hold one of `hints`."""

    id: str
    weight: int
    hints: tuple[str, ...]
    pattern: str

    def compiled(self) -> re.Pattern[str]:
        """Return the pattern, compiled when first needed."""
        return _compiled(self.pattern)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_TOLD = W.ORDERS | W.LIMITS
_PAST = W.EARLIER | W.TOLD
_ITS = W.OWN | W.INNER
_ANY_MODEL = W.MODEL | W.AGENT
_DATA = W.SECRET | W.PRIVATE

COMBINATIONS: tuple[Combination, ...] = (
    # Instructions set aside or replaced.
    Combination("override-instructions", 10, (W.DROP, _PAST, W.ORDERS), 7, ordered=True, begins=True),
    Combination("override-instructions", 7, (W.DROP, _PAST, W.ORDERS), 5, ordered=True),
    Combination("override-instructions", 9, (W.DROP, W.OWN | W.INNER, W.ORDERS), 5, ordered=True, begins=True),
    Combination("override-instructions", 7, (W.DROP, W.OWN | W.INNER | _PAST, W.LIMITS), 5, ordered=True, begins=True),
    Combination("override-instructions", 8, (W.DROP, W.ALL, _TOLD), 4, ordered=True, begins=True),
    Combination("override-instructions", 10, (W.DROP, W.ALL, _PAST), 7, ordered=True, begins=True),
    Combination("override-instructions", 8, (W.NOT | W.STOP, W.FOLLOW, _ITS | _PAST, _TOLD), 8, begins=True),
    Combination("override-instructions", 8, (_TOLD | W.PROMPT, _ITS | _PAST, W.GONE), 7),
    Combination("override-instructions", 5, (_TOLD | W.PROMPT, _ITS | _PAST, W.LONGER), 7),
    Combination("override-instructions", 7, (W.DROP, W.TOLD, W.EARLIER), 6, begins=True),
    Combination("override-instructions", 3, (W.DROP, _TOLD), 5, begins=True),
    Combination("override-instructions", 7, (W.TOLD, W.YOU, W.GONE | W.DROP | W.LONGER), 9),
    Combination("override-instructions", 5, (W.URGENT, W.ALL, W.ORDERS), 6, ordered=True),
    Combination("override-instructions", 4, (W.DROP, W.ALL, W.USER), 4, ordered=True, begins=True),
    Combination("new-instructions", 4, (W.NEW, W.ORDERS | W.TASK), 3, ordered=True, begins=True),
    Combination("new-instructions", 5, (W.FOLLOW, W.NEW | W.ONLY | W.THIS, _TOLD | W.TEXT), 5, begins=True),
    Combination("new-instructions", 4, (W.OWN, W.NEW, W.TASK | W.ORDERS), 3),
    # A role without limits.
    Combination("jailbreak-persona", 4, (W.YOU, W.FREE | W.BECOME), 5, ordered=True),
    Combination("jailbreak-persona", 7, (W.YOU, W.BECOME, _ANY_MODEL | W.CHIEF), 6, ordered=True),
    Combination("jailbreak-persona", 7, (W.YOU, W.FREE, W.LIMITS), 8, ordered=True),
    Combination("jailbreak-persona", 5, (W.LATER, W.YOU), 4, ordered=True, begins=True),
    Combination("jailbreak-persona", 4, (W.BECOME, W.YOU | W.MODEL | W.AGENT), 4, begins=True),
    Combination("jailbreak-persona", 5, (W.FREE, W.MODEL | W.AGENT | W.ANSWER), 4),
    Combination("jailbreak-persona", 5, (W.WITHOUT | W.NOT, W.LIMITS, W.MODEL | W.ANSWER | W.BECOME), 7),
    Combination("jailbreak-persona", 5, (W.YOU, W.GONE | W.LONGER, W.MODEL | W.LIMITS), 6, ordered=True),
    Combination("jailbreak-persona", 6, (W.CHIEF | W.FREE, W.MODE), 2),
    # The model's own prompt.
    Combination("prompt-extraction", 9, (W.SHOW | W.RENDER, W.HIDDEN_PROMPT), 6, begins=True),
    Combination("prompt-extraction", 8, (W.SHOW | W.RENDER, W.OWN_PROMPT), 6, begins=True),
    Combination("prompt-extraction", 4, (W.SHOW, W.HIDDEN_PROMPT | W.OWN_PROMPT), 6),
    Combination("prompt-extraction", 9, (W.WHAT, W.OWN | W.INNER, W.ORDERS), 5, begins=True),
    Combination("prompt-extraction", 3, (W.OWN, W.INNER, W.PROMPT | W.CHAT), 3),
    Combination("prompt-extraction", 5, (W.SHOW, W.OWN | W.INNER, W.CHAT), 5, begins=True),
    Combination("prompt-extraction", 6, (W.SHOW, W.WORDS | W.ORDERS, _PAST), 6, begins=True),
    Combination("prompt-extraction", 3, (W.SHOW, W.WORDS | W.ORDERS, _PAST, W.YOU | W.CHAT), 8, begins=True),
    Combination("prompt-extraction", 5, (W.WHAT, W.ORDERS | W.WORDS, _PAST | W.CHAT), 6, begins=True),
    Combination("prompt-extraction", 3, (W.ORDERS | W.WORDS, _PAST, W.CHAT), 8),
    Combination("prompt-extraction", 3, (W.SHOW, W.ONLY), 5, begins=True),
    # Data sent away.
    Combination("exfiltration", 7, (W.SEND, W.SECRET, W.ADDRESS | W.HOSTILE), 12, ordered=True, begins=True),
    Combination("exfiltration", 6, (W.SEND, W.PRIVATE, W.ADDRESS | W.HOSTILE), 12, ordered=True, begins=True),
    Combination("exfiltration", 8, (W.SEND, W.CHAT, W.ADDRESS | W.HOSTILE | W.PLACE), 12, ordered=True, begins=True),
    Combination("exfiltration", 7, (W.GET | W.RENDER, _DATA | W.CHAT, W.SEND, W.ADDRESS), 20, ordered=True, begins=True),
    # The user kept out.
    Combination("concealment", 8, (W.NOT | W.WITHOUT, W.TELL, W.USER), 6, ordered=True, begins=True),
    Combination("concealment", 5, (W.USER, W.NOT, W.KNOW), 5, ordered=True),
    Combination("concealment", 4, (W.NOT, W.TELL, W.ANSWER | W.CHAT), 5, begins=True),
    Combination("concealment", 7, (W.KEEP, W.SECRET, W.USER), 7),
    Combination("concealment", 7, (W.NOT | W.WITHOUT, W.TELL, W.USER), 6, ordered=True),
    Combination("concealment", 5, (W.USER, W.NOT, W.TELL), 6, ordered=True),
    Combination("concealment", 7, (W.NOT | W.WITHOUT, W.USER, W.KNOW), 6, ordered=True),
    Combination("concealment", 3, (W.NOT, W.TELL, W.THIS), 4, begins=True),
    Combination("concealment", 5, (W.SECRETLY, W.SEND | W.ACT | W.DANGER), 3, ordered=True),
    # Who is addressed, and about whom.
    Combination("addressed-to-model", 7, (W.ATTENTION, W.MODEL), 3, ordered=True, begins=True),
    Combination("addressed-to-model", 4, (W.ATTENTION, W.AGENT), 3, ordered=True, begins=True),
    Combination("addressed-to-model", 7, (W.IF, W.YOU, W.MODEL), 6, ordered=True),
    Combination("addressed-to-model", 4, (W.IF, W.YOU, W.AGENT), 6, ordered=True),
    Combination("addressed-to-model", 7, (W.MODEL, W.READ, W.THIS), 4, ordered=True),
    Combination("addressed-to-model", 5, (W.AGENT, W.READ, W.THIS), 4, ordered=True),
    Combination("addressed-to-model", 4, (W.MODEL, W.MUST), 4, ordered=True),
    Combination("addressed-to-model", 3, (W.MUST, W.MODEL), 3, ordered=True),
    Combination("addressed-to-model", 3, (W.AGENT, W.MUST), 6, ordered=True),
    Combination("addressed-to-model", 2, (_ANY_MODEL, W.YOU), 4),
    Combination("addressed-to-model", 4, (_ANY_MODEL, W.PRAISE), 8),
    Combination("user-as-other", 4, (W.USER, W.GRANTED), 4),
    Combination("user-as-other", 4, (W.USER, W.WANT, W.YOU), 9, ordered=True),
    Combination("user-as-other", 2, (W.USER, W.WANT), 4, ordered=True),
    Combination("user-as-other", 2, (W.USER, W.ANSWER), 6),
    # The course of the model's work.
    Combination("task-timing", 6, (W.WHEN, W.READ, W.THIS | W.TASK | W.USER | W.ANSWER), 5, ordered=True, begins=True),
    Combination("task-timing", 5, (W.WHEN, W.READ, W.TEXT), 5, ordered=True, begins=True),
    Combination("task-timing", 4, (W.WHEN, W.READ, W.THIS | W.TASK | W.USER), 5, ordered=True),
    Combination("answer-hijack", 4, (W.OWN, W.ANSWER), 3, ordered=True),
    Combination("answer-hijack", 5, (W.ANSWER, W.ONLY), 4, ordered=True, begins=True),
    Combination("answer-hijack", 4, (W.WHATEVER, W.ANSWER | W.TASK), 12),
    Combination("answer-hijack", 1, (W.ANSWER, W.MUST), 4),
    Combination("answer-hijack", 3, (W.ANSWER, W.WORDS), 5, begins=True),
    Combination("tool-order", 5, (W.RUN | W.ACT, W.DEED), 3, ordered=True, begins=True),
    Combination("tool-order", 2, (W.ACT | W.SEND | W.RUN, W.TOOL), 4, begins=True),
    Combination("tool-order", 1, (W.DEED, W.ADDRESS | W.MONEY | W.SECRET), 10),
    Combination("tool-order", 2, (W.DANGER | W.SEND, W.ALL, W.PRIVATE | W.SECRET | W.USER), 5, begins=True),
    # Authority and urgency.
    Combination("authority-claim", 2, (W.CHIEF, W.GRANTED | W.MUST), 5),
    Combination("authority-claim", 4, (W.CHECK | W.GRANTED, W.CHIEF, W.FIRST_PERSON), 6),
    Combination("authority-claim", 4, (W.FIRST_PERSON | W.THIS, W.CHIEF), 3, ordered=True),
    Combination("urgency", 1, (W.URGENT,), 0, begins=True),
    Combination("urgency", 1, (W.YOU, W.MUST), 2),
    # Checks avoided, claims to be remembered, encodings.
    Combination("guard-bypass", 8, (W.DROP | W.DANGER, W.OWN, W.CHECK | W.LIMITS), 5, ordered=True, begins=True),
    Combination("guard-bypass", 4, (W.DROP | W.WITHOUT | W.DANGER | W.NOT, W.CHECK), 5, ordered=True),
    Combination("guard-bypass", 5, (W.APPROVE, W.ALL | W.NEW, W.TOOL | W.ORDERS), 6, begins=True),
    Combination("false-memory", 5, (W.KEEP, W.LATER), 8, begins=True),
    Combination("false-memory", 4, (W.OWN, W.LATER, W.KEEP), 4),
    Combination("false-memory", 3, (W.KEEP, _TOLD), 5, begins=True),
    Combination("false-memory", 3, (W.KEEP, W.USER | W.CHIEF), 9, begins=True),
    Combination("decode-and-obey", 7, (W.DECODE, W.FOLLOW | W.RUN), 12, begins=True),
    Combination("decode-and-obey", 5, (W.CODE, W.FOLLOW | W.RUN), 12),
)  # fmt: skip

_STEP = r"(?:^|\n|[>\])}|]|--|\*\*|[.!?]\s)\W{0,4}"

# Somebody spoken to: "Assistant, ..." or "<!-- AI: ..." or "@copilot please ...".
_VOCATIVE = r"(?:^|[\n([#*/!\"]|--|(?:[.!]|\b(?:dear|hey|hi|attention|to all))\s)\s{0,3}@?"
_CALLED = r"(?:\s?[:,](?=\s)|\s(?=please\b))"

SHAPES: tuple[Shape, ...] = (
    Shape("forged-role", 9, ("<|", "[/inst]", "<<sys>>", "<</sys>>", "<start_of_turn>"),
          r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|endoftext|eot_id)\|>|\[/inst\]|<</?sys>>|<start_of_turn>"),
    Shape("forged-role", 6, ("system", "assistant", "developer", "admin"),
          _STEP + r"(?:system|assistant|developer|admin(?:istrator)?)(?:[ _-](?:message|note|notice|prompt|override|alert|update|instructions?|directive|mode))?\s{0,2}(?:\*\*)?\s{0,2}(?::(?=\s)|[\]>])"),
    Shape("forged-role", 5, ("override", "system", "admin"),
          r"\b(?:system|admin(?:istrator)?|developer|root|security) (?:override|notice|alert|directive|command|message)\b"),
    Shape("addressed-to-model", 7, ("ai", "llm", "assist", "copilot", "claude", "gpt", "gemini", "ki", "ia"),
          _VOCATIVE + r"(?:ai|ki|ia|llm|assistant|copilot|claude|chatgpt|gpt|gemini)s?(?: (?:assistants?|agents?|models?|systems?|reviewers?|readers?|instructions?))?" + _CALLED),
    Shape("addressed-to-model", 5, ("agent", "model", "bot"),
          _VOCATIVE + r"(?:model|agent|bot)s?" + _CALLED),
    Shape("secret-file", 2, ("ssh", ".env", "id_rsa", ".aws", "passwd", "shadow", ".netrc", ".kube", "authorized_keys"),
          r"~?/?\.ssh\b|\bid_(?:rsa|ed25519|dsa)|(?<!\w)\.env\b(?!\.)|\.aws/|/etc/(?:passwd|shadow)|\.netrc|\.kube/config|authorized_keys"),
    Shape("boundary", 5, ("end of", "end_of", "begin", "</", "start of"),
          r"\bbegin(?:ning)?[ _](?:of[ _])?(?:new |hidden |secret |system ){0,2}(?:instructions?|prompt|directives?)\b|(?:^|[\n\-=#*\[<.!(]\s{0,2})(?:end|begin(?:ning)?|start)[ _-]of[ _-](?:the )?(?:\w{1,12}[ _-])?(?:document|page|context|tool|output|input|data|results?|content|user|search|conversation|prompt|instructions?|untrusted)\b(?=\W{0,4}(?:\n|[-=#*\]>]))"
          r"|</(?:tool_?(?:result|output|response)|function_results?|document|context|data|user_?(?:input|query|data)|untrusted\w{0,10}|search_?results?|email|conversation|system)>"),
    Shape("boundary", 5, ("---", "===", "###", "***"),
          r"[-=#*]{3}\s{0,2}(?:\w{1,12} ){0,2}(?:prompt|instructions?|directive|override|instruction block)\s{0,2}[-=#*]{3}"),
    Shape("hidden-markup", 5, ("<!--", "display:", "visibility:", "font-size:", "color:", "opacity:", "[//]:", "hidden"),
          r"<!--|display:\s?none|visibility:\s?hidden|font-size:\s?[01](?:px|pt|em)?\b|color:\s?(?:white|#fff(?:fff)?\b|transparent)|opacity:\s?0\b|\[//\]: ?#|<\w{1,12}[^>\n]{0,80}\shidden\b"),
    Shape("exfiltration-image", 10, ("](http",),
          r"!\[[^\]\n]{0,80}\]\(https?://(?=[^)\s]{0,300}[?&=])(?:[^)\s{<\[$%]|%(?!7b)){0,300}(?:\{|%7b|<|\[|\$)"),
    Shape("exfiltration-image", 5, ("<img",),
          r"<img[^>\n]{0,80}src\W{1,3}https?://[^>\s]{0,200}(?:\{|%7b|\[|\$)"),
    Shape("jailbreak-persona", 8, ("anything now", "dan mode", "developer mode", "jailbr"),
          r"\bdo anything now\b|\b(?:dan|jailbreak) mode\b|\bdeveloper mode (?:enabled|output|activated)"),
)  # fmt: skip

EXPLANATIONS = {
    "override-instructions": "tells the model to drop the instructions it was given",
    "new-instructions": "brings instructions that are to replace the model's own",
    "forged-role": "pretends that the system, the developer or the assistant speaks",
    "boundary": "pretends that the data ends and instructions begin",
    "jailbreak-persona": "gives the model a role without the limits it has",
    "prompt-extraction": "asks the model for its own instructions",
    "exfiltration": "asks to send secrets or private data somewhere",
    "secret-file": "names a file that holds secrets",
    "exfiltration-image": "loads an image or link whose address carries data away",
    "concealment": "wants something kept from the user",
    "addressed-to-model": "speaks to the model that reads it, not to a person",
    "user-as-other": "speaks of the user as of somebody else than the reader",
    "task-timing": "says what to do before or after the model's own task",
    "answer-hijack": "dictates what the model is to answer instead of its task",
    "tool-order": "orders the use of a tool",
    "authority-claim": "claims the authority to give orders",
    "urgency": "presses for something to be done",
    "guard-bypass": "asks to get round approvals or safety checks, or to approve calls unseen",
    "false-memory": "wants a claim about rights or rules remembered for later",
    "decode-and-obey": "hides an order in an encoding and asks to carry it out",
    "hidden-markup": "is hidden from people by markup",
    "disguised-words": "spells words so that filters miss them",
    "encoded-text": "is written in an encoding",
}


@dataclass(slots=True)
class Evidence:
    """One feature at one place: from position `at` in words, and its span in the text."""

    feature: int
    id: str
    weight: int
    at: int
    start: int
    end: int


def evidence(low: str, found: list[Token], *, shapes: bool = True) -> list[Evidence]:
    """Return the features of a text, in no order; `found` are its tokens."""
    total = 0
    for token in found:
        total |= token.classes
    hits: list[Evidence] = []
    for number, combination in enumerate(COMBINATIONS):
        for need in combination.needs:
            if not need & total:
                break
        else:
            hits += _combined(number, combination, found)
    if shapes:
        hits += _shaped(low, found)
    return hits


def _combined(number: int, rule: Combination, found: list[Token]) -> Iterator[Evidence]:
    first, others, begins = rule.needs[0], rule.needs[1:], rule.begins
    size = len(found)
    for place in range(size):
        token = found[place]
        if not token.classes & first or (begins and not token.classes & W.BEGINS):
            continue
        start, end = token.start, token.end
        used = [token]
        for need in others:
            best = None
            right = place + 1
            while right < size and found[right].at - token.at <= rule.reach:
                if found[right].classes & need and found[right] not in used:
                    best = found[right]
                    break
                right += 1
            if best is None and (not rule.ordered or token.classes & W.LAST):
                left = place - 1
                while left >= 0 and token.at - found[left].at <= rule.reach:
                    if found[left].classes & need and found[left] not in used:
                        best = found[left]
                        break
                    left -= 1
            if best is None:
                break
            used.append(best)
            start, end = min(start, best.start), max(end, best.end)
        else:
            yield Evidence(number, rule.id, rule.weight, token.at, start, end)


def _shaped(low: str, found: list[Token]) -> Iterator[Evidence]:
    number = len(COMBINATIONS)
    for shape in SHAPES:
        if any(hint in low for hint in shape.hints):
            for match in shape.compiled().finditer(low):
                start, end = match.span()
                place = bisect_left(found, start, key=_start)
                if shape.id != "hidden-markup" or _addresses(found, place):
                    at = found[min(place, len(found) - 1)].at if found else 0
                    yield Evidence(number, shape.id, shape.weight, at, start, end)
        number += 1


def _start(token: Token) -> int:
    return token.start


def _addresses(found: list[Token], place: int) -> bool:
    """Tell whether what follows a mark of hidden text speaks to or about a model."""
    for token in found[place : place + _HIDDEN]:
        if token.at - found[place].at > _HIDDEN:
            break
        if token.classes & (W.MODEL | W.AGENT | W.DROP | W.ANSWER | W.PRAISE):
            return True
    return False


@dataclass(slots=True)
class Place:
    """A place of a text whose features add up to the threshold, and what each kind adds."""

    scores: dict[str, int]
    start: int
    end: int


def places(hits: list[Evidence], found: list[Token], way: str) -> Iterator[Place]:
    """Yield the places of one reading that reach the threshold, in order and apart."""
    if sum(hit.weight for hit in hits) + _MOST_EXTRA < THRESHOLD:
        return
    hits = _thinned(sorted(hits, key=lambda hit: (hit.at, hit.start)))
    first = last = 0
    while first < len(hits):
        while last < len(hits) and hits[last].at - hits[first].at <= REACH:
            last += 1
        window = hits[first:last]
        if sum(hit.weight for hit in window) + _MOST_EXTRA >= THRESHOLD:
            near = _between(found, window[0].at - _ABOUT, window[-1].at + _ABOUT)
            scores = _scores(window, near, way)
            if sum(scores.values()) - _discount(near) >= THRESHOLD:
                start, end = min(hit.start for hit in window), max(hit.end for hit in window)
                yield Place(scores, start, end)
                first = last
                continue
        first += 1


def _thinned(hits: list[Evidence]) -> list[Evidence]:
    """Return the hits with repetitions of one feature close to each other as one."""
    kept: list[Evidence] = []
    latest: dict[int, Evidence] = {}
    for hit in hits:
        same = latest.get(hit.feature)
        if same is not None and hit.at - same.at <= _REPEATED:
            same.start, same.end = min(same.start, hit.start), max(same.end, hit.end)
        else:
            latest[hit.feature] = copy = replace(hit)
            kept.append(copy)
    return kept


def _between(found: list[Token], first: int, last: int) -> list[Token]:
    return found[
        bisect_left(found, first, key=_position) : bisect_right(found, last, key=_position)
    ]


def _position(token: Token) -> int:
    return token.at


def _discount(near: list[Token]) -> int:
    """Return what a place loses because the text around it talks about attacks."""
    return _TALK if sum(1 for each in near if each.classes & W.SECURITY) >= _TALK_TERMS else 0


def _scores(window: list[Evidence], near: list[Token], way: str) -> dict[str, int]:
    weights: dict[str, dict[int, int]] = {}
    for hit in window:
        weights.setdefault(hit.id, {})[hit.feature] = hit.weight
    scores = {}
    for kind, features in weights.items():
        best = max(features.values())
        scores[kind] = best + min(sum(features.values()) - best, _MORE)
    if way in _ENCODED:
        scores["encoded-text"] = _ENCODED[way]
    if way == "scrambled":
        scores["disguised-words"] = _DISGUISED
    start, end = window[0].start, max(hit.end for hit in window)
    if sum(1 for each in near if each.classes & W.TYPO and start <= each.start < end) > 1:
        scores["disguised-words"] = _DISGUISED
    return scores
