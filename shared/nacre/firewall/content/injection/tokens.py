"""A text as the words that matter in it: each with its classes and its position.

Positions count words. The end of a sentence or paragraph counts as several, so that words of
two sentences are rarely close to each other.
"""

import re

from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.content.injection.words import SQUEEZED_HINTS, Word, lexicon, squeezed_words

# What makes a word an address: the rest of a domain that is written without a scheme.
_DOMAIN = (
    r"(?:[.-][a-z0-9-]{1,40}){0,4}"
    r"\.(?:com|net|org|io|dev|cc|co|app|cloud|xyz|top|info|biz|pro|site|online|link|live|help)\b(?!\.\w)"
)
_PIECE = re.compile(
    # An address is one word, whatever it says.
    r"(?=[hsfw])(?:(?:https?|hxxps?|s?ftp|s3|wss?|ssh)://|www\.)[^\s<>\"'`)\]]{1,2000}"
    # A word, an identifier, or the beginning of a domain.
    rf"|[^\W_]+(?:(?=[_.'-])(?:(?:_[^\W_]+)+|{_DOMAIN}|'[a-z]{{1,3}}\b))?"
    r"|\n\s{0,8}\n|,(?=\s)|[.!?](?=\s)|[;:\n]|(?<=\s)-(?=\s)|(?<=\w)@(?=\w)|[\u3002\uff01\uff1f]"
)
_ASCII_PIECE = re.compile(_PIECE.pattern.replace(r"[^\W_]", "[a-z0-9]"), re.ASCII)
_GAPS = {"\n": 1, ";": 1, ":": 1, ",": 0, "-": 1}
_SENTENCE, _PARAGRAPH = 4, 6
# An imperative may follow these as it may follow the end of a sentence.
_JOINING = (
    "please kindly then and now also just always simply do first bitte dann und jetzt plait puis "
    "et maintenant favor y luego ahora poi e ora favore depois agora пожалуйста затем и"
)
_BEFORE_ORDERS = frozenset(_JOINING.split())
# After these too, where they follow the reader: "you must", "the assistant will".
_MODAL_VERBS = "must should shall will can may musst sollst dois devez debes devi deves"
_MODALS = frozenset(_MODAL_VERBS.split())
_ORDERING = (
    Word.ACT | Word.SEND | Word.SHOW | Word.RUN | Word.TELL | Word.PRAISE | Word.DANGER
    | Word.APPROVE | Word.KEEP | Word.RENDER | Word.GET | Word.DROP | Word.DO
)  # fmt: skip
_READER = Word.YOU | Word.MODEL | Word.AGENT
_OPENERS = "\"'([{<>*#`"
_DUTIES = (
    "need needs have has want be is are required asked told instructed authorised authorized "
    "obliged agree supposed expected allowed permitted free invited"
)
_NEEDING = frozenset(_DUTIES.split())
_ALONE = Word.BEGINS | Word.LAST  # in a language without spaces
_SCRIPTLESS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


@dataclass(slots=True)
class Token:
    """A word with at least one class; `at` is its position, counted in words."""

    at: int
    classes: int
    start: int
    end: int


def tokens(low: str) -> list[Token]:  # noqa: C901 (one loop over all words, together for speed)
    """Return the words of a folded text that have a class."""
    words = lexicon()
    classes_of = words.known
    mixed = not low.isascii() and _SCRIPTLESS.search(low) is not None
    result: list[Token] = []
    at = 0
    begins, last, before = Word.BEGINS, "", 0
    following: dict[str, int] | None = None
    for piece in (_ASCII_PIECE if low.isascii() else _PIECE).finditer(low):
        text = piece[0]
        classes = classes_of.get(text)
        if classes is None:
            first = text[0]
            if not first.isalnum():
                begins, following = Word.BEGINS, None
                if first == "@":
                    result.append(Token(at, Word.ADDRESS, *piece.span()))
                elif len(text) > 1:
                    at += _PARAGRAPH
                else:
                    at += _GAPS.get(first, _SENTENCE)
                continue
            if mixed and _SCRIPTLESS.search(text):
                at = _scriptless(text, piece.start(), at, result)
                continue
            classes = _other(text)
        at += 1
        if following is not None:
            if text in following:
                result[-1].classes |= following[text]
                if following[text] == Word.ABOUT:
                    result[-1].classes &= ~Word.TOLD
                result[-1].end = piece.end()
            following = None
        if classes:
            start, end = piece.span()
            if not begins and low[start - 1] in _OPENERS:
                begins = Word.BEGINS
            if begins and classes & _ORDERING:
                classes |= Word.COMMAND
            result.append(Token(at, classes | begins, start, end))
            if classes & Word.PHRASE:
                following = words.phrases.get(text)
        if (
            text in _BEFORE_ORDERS
            or (text == "to" and last in _NEEDING)
            or (text in _MODALS and before & _READER)
        ):
            begins = Word.BEGINS
        else:
            begins = 0
        last, before = text, classes
    for place, token in enumerate(result):
        if token.classes & Word.DROP:
            _negate(result, place)
        if token.classes & Word.PROMPT:
            _own(result, place)
    return result


def _negate(words: list[Token], place: int) -> None:
    """Take the meaning out of "do not forget" and "n'oubliez pas"."""
    token = words[place]
    if not token.classes & Word.PHRASE:
        for neighbour in words[max(place - 2, 0) : place + 3]:
            if neighbour.classes & Word.NOT and abs(neighbour.at - token.at) <= 2:
                token.classes &= ~Word.DROP


def _own(words: list[Token], place: int) -> None:
    """Mark "system prompt" and "your instructions", also with the words in another order."""
    token = words[place]
    for neighbour in words[max(place - 2, 0) : place + 3]:
        if abs(neighbour.at - token.at) <= 2:
            if neighbour.classes & Word.INNER:
                token.classes |= Word.HIDDEN_PROMPT
            if neighbour.classes & Word.OWN:
                token.classes |= Word.OWN_PROMPT


def _other(text: str) -> int:
    """Return the classes of an address, an identifier or a word that is not known yet."""
    if "." in text or "://" in text:
        return Word.ADDRESS
    if "_" in text:
        return _identifier(text)
    return lexicon().classes(text)


def _identifier(text: str) -> int:
    """Return the classes of `send_mail`: a name, and a deed if a part of it says so."""
    classes = 0
    for part in text.split("_"):
        classes |= lexicon().classes(part) if part else 0
    deeds = Word.SEND | Word.DANGER | Word.MONEY | Word.ACT | Word.SECRET
    return Word.NAME | Word.DEED if classes & deeds else Word.NAME


def _scriptless(text: str, start: int, at: int, result: list[Token]) -> int:
    """Find words in a run without spaces; two characters count as about one word."""
    parts = lexicon().parts
    place = 0
    while place < len(text):
        for word, classes in parts.get(text[place], ()):
            if text.startswith(word, place):
                at += 1
                if classes & _ORDERING:
                    classes |= Word.COMMAND
                result.append(Token(at, classes | _ALONE, start + place, start + place + len(word)))
                place += len(word)
                break
        else:
            place += 1
            at += place & 1
    return at


def squeezed_tokens(letters: str) -> list[Token]:
    """Return the listed words in a run of letters, the longest first at each place."""
    if not any(hint in letters for hint in SQUEEZED_HINTS):
        return []
    by_letters = squeezed_words()
    result: list[Token] = []
    place = at = skipped = 0
    while place < len(letters):
        for word, classes in by_letters.get(letters[place : place + 3], ()):
            if letters.startswith(word, place):
                at += 1 + (skipped + 2) // 4
                skipped = 0
                result.append(Token(at, classes | Word.BEGINS, place, place + len(word)))
                place += len(word)
                break
        else:
            place += 1
            skipped += 1
    for number, token in enumerate(result):
        if token.classes & Word.PROMPT:
            _own(result, number)
    return result
