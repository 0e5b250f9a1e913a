"""Base64 in messages: files pass unchanged, and text in base64 is checked like any text.

The bytes decide, not the name of a value, because the sender chooses the name. Before a value is
checked, its base64 is taken out: a file leaves a short mark, and text goes beside the value, where
the rules find it. Afterwards both are put back.
"""

import base64
import binascii
import re
import secrets
from typing import Any

from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import BASE64_RUN_CHARS
from nacre.firewall.rules.arguments.arguments import JsonNumber

_SHORTEST = 64  # characters: below, a key and a file look alike, and rules are quick
_STRETCH = 24  # characters in a row that random bytes do not show within a gigabyte
_SAMPLE = 4096
_TEXT_SHARE = 0.75  # of bytes that can be read; of random ones it is 0.38
_LOWER_SHARE = 0.65  # of small letters; in base64 of random bytes it is 0.41, in English 0.9

_READABLE = bytes(byte for byte in range(256) if 32 <= byte < 127 or byte in b"\t\r\n")
_ERRORS = {
    "utf-8": "replace",
    "latin-1": "replace",
    "utf-16-le": "surrogatepass",
    "utf-16-be": "surrogatepass",
}
_MASK = bytes(
    ord("a") if byte in _READABLE else ord("0") if byte == 0 else ord(" ") for byte in range(256)
)
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGITS = b"0123456789+/-_"
_BREAKS = (b"\n", b"\r")
_LOWER = _LETTERS[26:]
_RUN_MASK = bytes(ord("a") if byte in _LETTERS + _DIGITS else ord(" ") for byte in range(256))
_LONG_RUN = b"a" * BASE64_RUN_CHARS
_SHORTEST_LINE = 60  # as tools break base64: into 60, 64, 72 or 76 characters
_FEWEST_LINES = 64
_END_OF_LINE = b"a" * _SHORTEST_LINE + b" "
_URI = re.compile(rb";(?:base64|BASE64),")
# Between two lines: indented, quoted, in source code, in JSON within a text, in a mail.
_BREAK = re.compile(rb"=?[\"', +]{0,4}(?:\r\n|\n|\r|(?:\\{1,8}r)?\\{1,8}n)[ \t>#*|\"'+]{0,32}")
# By the bytes of a letter: what marks a stretch in the mask, and what finds it in the file.
_STRETCHES = {
    width: (
        (b"a" + b"0" * (width - 1)) * _STRETCH,
        re.compile(rb"(?:[\t\r\n\x20-\x7e]\0{%d}){%d,}" % (width - 1, _STRETCH)),
    )
    for width in (1, 2, 4)
}


@dataclass(frozen=True, slots=True)
class Media:
    """Decoded base64: `text` in a `charset`, or a file with the readable texts inside it."""

    given: str
    text: str | None = None
    charset: str = "utf-8"
    file_texts: str = ""

    def encoded(self, text: str) -> str:
        """Return another text in the same encoding."""
        data = text.encode(self.charset, _ERRORS[self.charset])
        is_url = "-" in self.given or "_" in self.given
        spelled = base64.urlsafe_b64encode(data) if is_url else base64.b64encode(data)
        return spelled.decode()


@dataclass(slots=True)
class Stripped:
    """A value without its base64.

    Check `value`: the given value itself if it has no base64. `file_texts` are texts within files,
    which cannot be changed.
    """

    value: Any
    file_texts: list[str] = field(default_factory=list)
    _media: list[Media] = field(default_factory=list)
    _token: str = ""

    def restore(self, screened: Any) -> Any:
        """Return a checked value with its base64 put back, changed where its text was changed."""
        if not self._media:
            return screened
        texts = screened[_TEXTS]
        marks = re.compile(rf"\[media {self._token} (\d+)\]")

        def back(match: re.Match[str]) -> str:
            media, text = self._media[int(match[1])], texts[int(match[1])]
            return media.given if text == (media.text or "") else media.encoded(text)

        def walk(part: Any) -> Any:
            if isinstance(part, str):
                is_marked = type(part) is not JsonNumber and self._token in part
                return marks.sub(back, part) if is_marked else part
            if isinstance(part, dict):
                return {walk(name): walk(inner) for name, inner in part.items()}
            return [walk(inner) for inner in part] if isinstance(part, list) else part

        return walk(screened[_VALUE])


_VALUE, _TEXTS = "value", "texts"


def without_base64(value: Any) -> Stripped:
    """Return a value without its base64."""
    search = _Base64Search()
    marked = search.of(value)
    if not search.media:
        return Stripped(value)
    texts = [media.text or "" for media in search.media]
    file_texts = [media.file_texts for media in search.media if media.file_texts]
    return Stripped({_VALUE: marked, _TEXTS: texts}, file_texts, search.media, search.token)


def read_media(text: str) -> Media | None:
    """Decode a text that is base64 from end to end; None for any other text."""
    if not text.isascii():
        return None
    plain = text.encode()
    for line_end in _BREAKS:
        if line_end in plain:
            plain = plain.replace(line_end, b"")
    if b" " in plain or b"\t" in plain:
        lines = text.rstrip().encode()
        stop, _, plain = _joined(lines, lines.translate(_RUN_MASK) + b" ", 0)
        if stop < len(lines):
            return None
    return _read(text, plain)


def _read(text: str, plain: bytes) -> Media | None:
    """Decode base64; `plain` is `given` without its line ends."""
    for url, standard in ((b"-", b"+"), (b"_", b"/")):
        if url in plain:
            plain = plain.replace(url, standard)
    plain = plain.rstrip(b"=")
    sample = _sample(plain)
    if _is_words(sample):
        return None
    try:
        data = binascii.a2b_base64(plain + b"=" * (-len(plain) % 4), strict_mode=True)
    except (binascii.Error, ValueError):
        return None
    charset = _charset(data)
    if charset is None:
        return Media(text, file_texts=_shown(data))
    return Media(text, data.decode(charset, _ERRORS[charset]), charset)


def _joined(text: bytes, runs: bytes, start: int) -> tuple[int, int, bytes]:
    """Return the end of base64 that begins at `start`, its number of lines, and its characters.

    `runs` is the text with a letter for each character of base64. A block of lines ends where
    a line is of another length, or is broken in another way.
    """
    stop = runs.index(b" ", start)
    parts, count = [text[start:stop]], 0
    if (gap := _BREAK.match(text, stop)) is not None:
        line, break_ = gap.end(), gap[0]
        size = runs.index(b" ", line) - line
        full_line = runs[line : line + size + len(break_)]
        count = _times(runs, line, full_line) if size >= _SHORTEST_LINE else 0
        if count:
            last = line + count * len(full_line)
            remainder = runs.find(b" ", last, last + size + 1) - last
            # With one character too many it is not base64.
            if remainder <= 0 or (len(parts[0]) + count * size + remainder) % 4 == 1:
                remainder = -len(break_)
            stop = last + remainder
            parts.append(_without(text[line:stop], break_, size))
    for _ in range(2):
        stop += text.startswith(b"=", stop)
    return stop, count, b"".join(parts)


def _without(block: bytes, break_: bytes, size: int) -> bytes:
    """Return lines of one size without the breaks between them; unchanged if the breaks differ."""
    lines = bytearray(block)
    for place, byte in enumerate(break_):
        column = lines[size :: size + len(break_) - place]
        if column.count(byte) < len(column):
            return block
        del lines[size :: size + len(break_) - place]
    return bytes(lines)


def _times(data: bytes, start: int, part: bytes) -> int:
    """Return how often a part repeats from `start`, in steps that grow and shrink."""
    count, step = 0, 1
    while step:
        if data.startswith(part * step, start + count * len(part)):
            count += step
            step *= 2
        else:
            step //= 2
    return count


def _sample(data: bytes) -> bytes:
    """Return some of the beginning, the middle and the end."""
    if len(data) <= 4 * _SAMPLE:
        return data
    middle = len(data) // 2
    return data[: 2 * _SAMPLE] + data[middle : middle + _SAMPLE] + data[-_SAMPLE:]


def _is_words(sample: bytes) -> bool:
    """Tell whether a run of letters and digits may be words without spaces."""
    size = len(sample)
    digits = size - len(sample.translate(None, _DIGITS))
    lower = size - len(sample.translate(None, _LOWER))
    if digits and 0 < lower <= _LOWER_SHARE * size:
        return False
    return len(set(sample)) > 4  # else a few bytes again and again, as in an empty picture


def _charset(data: bytes) -> str | None:
    """Return the charset of a text, None for a file."""
    wide = _wide(data)
    if wide is not None:
        return wide
    sample = _sample(data)
    if len(sample.translate(None, _READABLE)) <= (1 - _TEXT_SHARE) * len(sample):
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return "latin-1"  # each byte comes back as it was
        return "utf-8"
    try:
        text = data.decode("utf-8")  # fails at once for nearly all files
    except UnicodeDecodeError:
        return None
    visible = text.replace("\n", "").replace("\r", "").replace("\t", "")
    return "utf-8" if visible.isprintable() else None


def _wide(data: bytes) -> str | None:
    """Return the byte order of UTF-16, which half of English text shows by its zeros."""
    if len(data) % 2 or len(data) < 4:
        return None
    sample = data[:_SAMPLE]
    for charset, high, low in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        zeros = sample[high::2].count(0)
        letters = len(sample[low::2]) - len(sample[low::2].translate(None, _READABLE))
        if min(zeros, letters) >= _TEXT_SHARE * len(sample) / 2:
            try:
                data.decode(charset)
            except UnicodeDecodeError:
                return None
            return charset
    return None


def _shown(data: bytes) -> str:
    """Return the longer readable stretches of a file, also those in UTF-16 and UTF-32."""
    mask = data.translate(_MASK)
    return "\n".join(
        match[0][::width].decode()
        for width, (marks, stretches) in _STRETCHES.items()
        if mask.find(marks) >= 0
        for match in stretches.finditer(data)
    )


class _Starts:
    """Finds the places where base64 may begin; each kind of place is searched once."""

    def __init__(self, text: bytes, runs: bytes, *, has_uri: bool) -> None:
        self._text = text
        self._runs = runs
        self._end = len(text)
        self.uri = -1 if has_uri else self._end
        self._long = self._line = -1

    def after(self, place: int) -> int:
        """Return the first such place from `place` on; the end of the text if there is none."""
        if self.uri < place:
            uri = _URI.search(self._text, place)
            self.uri = self._end if uri is None else uri.end()
        if self._long < place:
            self._long = self._or_end(self._runs.find(_LONG_RUN, place))
        if self._line < place:
            last = self._runs.find(_END_OF_LINE, place, self._long)
            first = self._runs.rfind(b" ", place, last) + 1 if last >= 0 else -1
            self._line = self._long if last < 0 else self._first_of(max(first, place))
        return min(self.uri, self._long, self._line)

    def _or_end(self, place: int) -> int:
        return self._end if place < 0 else place

    def _first_of(self, start: int) -> int:
        """Return where a run begins, without the letter of an escaped end of line."""
        return start + (self._text[start - 1 : start] == b"\\")


class _Base64Search:
    """The walk through one value."""

    def __init__(self) -> None:
        self.media: list[Media] = []
        self.token = secrets.token_hex(8)

    def of(self, value: Any) -> Any:
        """Return the value with marks in it; the same object if it has no base64."""
        if isinstance(value, str):
            return value if type(value) is JsonNumber else self._text(value)
        if isinstance(value, dict):
            place = _media_member(value)
            members = {
                name: self._file(inner) if name == place else self.of(inner)
                for name, inner in value.items()
            }
            return members if any(members[name] is not value[name] for name in value) else value
        if isinstance(value, (list, tuple)):
            items = [self.of(inner) for inner in value]
            return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
        return value

    def _file(self, value: Any) -> Any:
        if type(value) is not str or len(value) < _SHORTEST:
            return self.of(value)
        media = read_media(value)
        return self._text(value) if media is None else self._mark(media)

    def _text(self, text: str) -> str:
        if len(text) < _SHORTEST:
            return text
        has_uri = ";" in text and (";base64," in text or ";BASE64," in text)
        if not has_uri and len(text) < BASE64_RUN_CHARS:
            return text
        plain = text.encode("latin-1", "replace")  # a byte for each character
        runs = plain.translate(_RUN_MASK) + b" "
        starts = _Starts(plain, runs, has_uri=has_uri)
        parts, end, place = [], 0, 0
        while (start := starts.after(place)) < len(plain):
            stop, lines, spelled = _joined(plain, runs, start)
            place = max(stop, start + 1)
            is_long = len(spelled) >= BASE64_RUN_CHARS or lines >= _FEWEST_LINES
            if not is_long and (start != starts.uri or len(spelled) < _SHORTEST):
                continue
            media = _read(text[start:stop], spelled)
            if media is not None:
                parts += [text[end:start], self._mark(media)]
                end = stop
        return "".join((*parts, text[end:]))

    def _mark(self, media: Media) -> str:
        self.media.append(media)
        return f"[media {self.token} {len(self.media) - 1}]"


def _media_member(value: dict[Any, Any]) -> str | None:
    """Return the member that a client decodes: of an image, a sound, or a resource."""
    if value.get("type") in ("image", "audio"):
        return "data"
    return "blob" if "blob" in value else None
