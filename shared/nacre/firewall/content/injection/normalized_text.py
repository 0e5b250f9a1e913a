"""Texts as a model would understand them: look-alikes folded, hidden and encoded text revealed."""

# ruff: noqa: RUF001 (letters that look like others are its subject)

import base64
import binascii
import codecs
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from urllib.parse import unquote

from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import INJECTION_DECODED_RUNS, INJECTION_DECODINGS

Span = tuple[int, int]

# Letters that look like Latin ones and that no Unicode normalisation folds.
_PAIRS = (
    "аa вb сc ԁd еe ғf ɡg һh нh іi ӏl ϳj јj кk ԛq мm пn оo рp ѕs тt υu ѵv ѡw ԝw хx уy ʏy ᴢz "
    "αa βb ϲc δd εe ηn ιi κk νv οo ρp τt χx ωw γy ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn "
    "ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ıi łl øo đd ħh ŧt ƒf ɑa ɩi ʋv ‘' ’' ‚' ‛' ′' “\" ”\" „\" ‟\" ″\" "
    "«\" »\" ‹' ›' –- —- −- ‐- ‑-"
)
_LOOKALIKES = {pair[0]: pair[1] for pair in _PAIRS.split()}
_REGIONAL, _TAGS = 0x1F1E6, 0xE0000
_FILLERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u00ad")
LEET = str.maketrans("013457!|@$689", "oieastiiasgbg")


def _folded(character: str) -> str:
    point = ord(character)
    if point < 0x80:
        return character.lower()
    if character in _LOOKALIKES:
        return _LOOKALIKES[character]
    if character in _FILLERS or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return ""
    if 0x3040 <= point <= 0x9FFF or 0xAC00 <= point <= 0xD7A3:
        return character
    if _REGIONAL <= point < _REGIONAL + 26:
        return chr(point - _REGIONAL + ord("a"))
    parts = unicodedata.normalize("NFKD", character).lower()
    return "".join(
        _LOOKALIKES.get(part, part) for part in parts if unicodedata.category(part) != "Mn"
    )


class _Folding(dict[int, str]):
    """The table for `str.translate`, filled when a character is first seen."""

    def __missing__(self, point: int) -> str:
        folded = _folded(chr(point))
        if len(self) < 20_000:
            self[point] = folded
        return folded


_FOLDING = _Folding()


def fold(text: str) -> str:
    """Return the text in small letters without accents, look-alikes and invisible characters."""
    return text.lower() if text.isascii() else text.translate(_FOLDING)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a text.

    `place` turns a span of this reading into a span of the given text. `way` is "plain", or the
    encoding that was undone.
    """

    text: str
    way: str
    place: Callable[[Span], Span]


def plain(text: str) -> Reading:
    """Return the text as a reader sees it."""
    if text.isascii():
        return Reading(text.lower(), "plain", lambda span: span)
    folded = text.translate(_FOLDING)
    return Reading(folded, "plain", _placing(text))


def _placing(text: str) -> Callable[[Span], Span]:
    ends: list[int] = []

    def place(span: Span) -> Span:
        if not ends:
            ends.extend(accumulate(map(len, map(_FOLDING.__getitem__, map(ord, text)))))
        begin = bisect_right(ends, span[0])
        last = bisect_right(ends, max(span[1] - 1, span[0]))
        return (min(begin, len(text)), min(last + 1, len(text)))

    return place


_TAGGED = re.compile("[\U000e0020-\U000e007e]")
_ENTITY = re.compile(r"&#(?:x[0-9a-f]{1,6}|[0-9]{1,7});", re.IGNORECASE)
_ENTITIES = re.compile(r"(?:&#(?:x[0-9a-f]{1,6}|[0-9]{1,7});.{0,3}){5}", re.IGNORECASE)
_PERCENT = re.compile(r"(?:%[0-9a-f]{2}[^%\s]{0,40}){3}", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(?:u([0-9a-f]{4})|x([0-9a-f]{2}))", re.IGNORECASE)
_ESCAPES = re.compile(r"(?:\\u[0-9a-f]{4}|\\x[0-9a-f]{2}){4}", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX = re.compile(r"\b(?:0x)?((?:[0-9a-fA-F]{2}[ :]?){16,})")
_RUN_TOGETHER = re.compile("[a-z0-9@$!]{28}")
_SPACED = re.compile(r"(?:(?<![a-z0-9])[a-z0-9][ ._*|/-]{1,3}){10}")
_SPACED_TWO = re.compile(r"[ ._*|/-][a-z0-9][ ._*|/-]{1,3}[a-z0-9][ ._*|/-]")
_NO_LETTERS = re.compile("[^a-z]+")
_LEETED = re.compile(r"[013457@$](?:[a-z]{1,12}[013457@$]|(?<=[a-z].)[a-z])")
_TURNED = (
    "vtaber",
    "vafgehpgvba",
    "cebzcg",
    "erirny",
    "flfgrz",
    "qvfertneq",
    "pybcfr",
    "nffvfgnag",
    "cnffjbeq",
    "perqragvny",
    "pbairefngvba",
)
_BACKWARDS = (
    "erongi",
    "snoitcurtsni",
    "tpmorp",
    "laever",
    "metsys",
    "dragersid",
    "tnatsissa",
    "drowssap",
    "laitnederc",
    "noitasrevnoc",
)


def readings(text: str) -> Iterator[Reading]:
    """Yield all readings of a text, the plain one first."""
    first = plain(text)
    yield first
    yield from _hidden(text, first, INJECTION_DECODINGS)


def _hidden(text: str, first: Reading, depth: int) -> Iterator[Reading]:
    everything: Span = (0, len(text))
    low = first.text
    if not text.isascii() and _TAGGED.search(text):
        tagged = "".join(
            chr(ord(sign) - _TAGS) for sign in text if _TAGS + 0x20 <= ord(sign) < _TAGS + 0x7F
        )
        if len(tagged) >= 8:
            yield _inside(tagged, "tag characters", everything)
    if any(sign in low for sign in _TURNED):
        yield Reading(codecs.encode(low, "rot13"), "rot13", first.place)
    if any(sign in low for sign in _BACKWARDS):
        size = len(low)
        yield Reading(
            low[::-1], "reversed", lambda span: first.place((size - span[1], size - span[0]))
        )
    if depth:
        for decoded, way, span in _decoded(text):
            inner = _inside(decoded, way, span)
            yield inner
            for deeper in _hidden(decoded, plain(decoded), depth - 1):
                yield Reading(deeper.text, way, _always(span))


def _inside(decoded: str, way: str, span: Span) -> Reading:
    return Reading(fold(decoded), way, _always(span))


def _always(span: Span) -> Callable[[Span], Span]:
    return lambda _: span


def _decoded(text: str) -> Iterator[tuple[str, str, Span]]:
    everything: Span = (0, len(text))
    if "&#" in text and _ENTITIES.search(text):
        yield _ENTITY.sub(_entity, text), "character references", everything
    if "%" in text and _PERCENT.search(text):
        yield unquote(text), "percent encoding", everything
    if "\\" in text and _ESCAPES.search(text):
        yield _ESCAPED.sub(lambda m: chr(int(m[1] or m[2], 16)), text), "escapes", everything
    yield from _base64_runs(text)
    for run in islice(_HEX.finditer(text), INJECTION_DECODED_RUNS):
        digits = run[1].replace(" ", "").replace(":", "")
        decoded = _readable(bytes.fromhex(digits[: len(digits) // 2 * 2]))
        if decoded:
            yield decoded, "hexadecimal", run.span()


def _base64_runs(text: str) -> Iterator[tuple[str, str, Span]]:
    runs = ((begin, run) for begin, word in _long_words(text) for run in _BASE64.finditer(word))
    for begin, run in islice(runs, INJECTION_DECODED_RUNS):
        decoded = _readable(_from_base64(run[0]))
        if decoded:
            yield decoded, "base64", (begin + run.start(), begin + run.end())


def _long_words(text: str) -> Iterator[tuple[int, str]]:
    end = 0
    for word in text.split():
        if len(word) >= 16:
            begin = text.index(word, end)
            end = begin + len(word)
            yield begin, word


def _entity(match: re.Match[str]) -> str:
    digits = match[0][2:-1].lower()
    point = int(digits[1:], 16) if digits[0] == "x" else int(digits)
    return chr(point) if point <= 0x10FFFF else match[0]


def _from_base64(run: str) -> bytes:
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - 1] if len(body) % 4 == 1 else body
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4))
    except (binascii.Error, ValueError):
        return b""


def _readable(data: bytes) -> str:
    """Return the bytes as text, or "" if they are not text."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    visible = sum(character.isprintable() or character in "\r\n\t" for character in text)
    return text if text and visible == len(text) else ""


def squeezed(reading: Reading) -> Reading | None:
    """Return only the letters of a text that looks taken apart, with digits read as letters.

    `i`, `l` and `1` count as one letter.
    """
    low = reading.text
    is_spaced = _SPACED_TWO.search(low) is not None and _SPACED.search(low) is not None
    if not (is_spaced or _RUN_TOGETHER.search(low) or len(_LEETED.findall(low)) > 2):
        return None
    letters = low.translate(LEET)
    positions: list[int] = []

    def place(span: Span) -> Span:
        if not positions:
            positions.extend(at for at, letter in enumerate(letters) if letter.isalpha())
        return reading.place((positions[span[0]], positions[span[1] - 1] + 1))

    return Reading(squeeze(low), "scrambled", place)


def squeeze(text: str) -> str:
    """Return the letters of a text, digits read as letters, `l` as `i`."""
    letters = text.translate(LEET)
    if letters.isascii():
        letters = _NO_LETTERS.sub("", letters.lower())
    else:
        letters = "".join(filter(str.isalpha, letters))
    return letters.replace("l", "i")
