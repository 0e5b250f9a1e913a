"""The readings of a text: every path, URL or word that a server may take it for.

A server may decode, fold, expand or resolve a value. So a rule that allows must hold for
all readings, and a rule that denies or asks holds if it matches any of them.
"""

import re
import sys
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, unquote_to_bytes

from nacre.firewall.rules.arguments import process_paths
from nacre.firewall.rules.arguments.folder_names import UNREADABLE, stored_spellings
from nacre.firewall.rules.rule import Surroundings

MAX_READINGS = 256  # no honest value has more spellings
LONGEST_NAME = 32_767  # no system opens a longer name; longer texts are decoded in one order only
MAX_DECODINGS = 4  # a text that is encoded more often is never allowed

# A text without any of this has one reading.
_UNUSUAL = re.compile(r"[^ -$&-\[\]-}]|/[./]|/$|^[.~ $]| $|:")
_PERCENT_U = re.compile(r"%[uU]([0-9a-fA-F]{4})")
_OVERLONG = re.compile(rb"[\xc0\xc1](.)|\xe0[\x80-\x9f](.)|\xf0\x80[\x80-\xbf](.)", re.DOTALL)
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_LOOKALIKES = str.maketrans(
    dict.fromkeys("\u2044\u2215\u2571\u29f8\u2afd\uff0f", "/")
    | dict.fromkeys("\u2216\u29f5\u29f9\ufe68\uff3c", "\\")
    | dict.fromkeys("\u2024\ufe52\uff0e\u0701\u0702", ".")
    | {"\u2025": "..", "\u2026": "..."}
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_FILE_URL = re.compile(r"file:(?://([^/]*))?", re.IGNORECASE)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)")
_OTHER_HOME = re.compile(r"~([^/]*)(/.*)?", re.DOTALL)
# The home folder as shells and many file libraries write it, `%` of Windows included.
_HOME_VARIABLE = re.compile(
    r"^[ \t]*(?:\$HOME|\$\{HOME\}|\$env:(?:HOME|USERPROFILE)|%USERPROFILE%|%HOMEPATH%)(?=[/\\]|$)",
    re.IGNORECASE,
)
_BLANK = "".join(map(chr, range(1, 33)))
_UPWARDS = re.compile(r"^(?:\.\.?/)+")
_DRIVE = re.compile(r"^[A-Za-z]:(?=[^/])")
# Paths that may have other names, or lead through a process.
_ALIASED = ("/proc/", "/dev/", "/private/", "/System/", "proc/", "dev/")
# Second names of the same folders on macOS.
MAC_ALIAS = re.compile(r"(?:/System/Volumes/Data(?=/)|/private(?=/(?:etc|tmp|var)(?:/|$)))+")
MAC_PREFIXES = ("/private", "/System/Volumes/Data", "/System/Volumes/Data/private")
_DEVICE = re.compile(r"^//[?.]/")
_WRAPPED = re.compile(r"^(?:[A-Za-z][A-Za-z-]{1,20}:){1,3}(?=[A-Za-z]{2,8}:/)")
_LOOSE_URL = re.compile(
    r"(?:(https?|wss?|ftp):[/\\]*|[/\\]{2,})([^/?#\\]+)(.*)", re.IGNORECASE | re.DOTALL
)
_DROPPED_IN_URLS = dict.fromkeys(map(ord, "\t\n\r"))
_DOTS = str.maketrans(dict.fromkeys("\u3002\uff0e\uff61", "."))
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_OCTAL = re.compile(r"^0(?=[0-7]+$)")
_MAX_PATH = 4096  # what Linux opens
_USUAL_PORTS = {"http": ":80", "https": ":443", "ws": ":80", "wss": ":443"}


class Readings(NamedTuple):
    """The readings of a value: all of `sure` must match an allow, any of `possible` a deny.

    A value that is not `legible` has no certain meaning, so an allow never matches it. If
    not all readings were found, `complete` is False, and a deny or prompt about the value
    matches.

    `relative` are the readings that begin at a base of the server, without the `..` that
    lead above it. `has_unknown_base` means that at least one of the bases is not known, and
    `has_separator` that the value contains a `/`. A path through a link of the server's
    process, such as `/proc/self/cwd`, begins at an unknown base after the link.
    """

    sure: tuple[str, ...]
    possible: tuple[str, ...]
    legible: bool = True
    complete: bool = True
    relative: tuple[str, ...] = ()
    has_unknown_base: bool = False
    has_separator: bool = False


def readings(text: str, where: Surroundings) -> Readings:
    """Return the readings of a text as a path or URL, for a server at `where`."""
    is_rooted = text.startswith("/")
    is_plain = is_rooted and ".." not in text and "./" not in text
    depends = where.folds_case or bool(where.bases and not is_plain)
    if depends or text.startswith(_ALIASED) or _UNUSUAL.search(text) is not None:
        return _all_readings(text, where)
    sure: tuple[str, ...] = (text,)
    possible = sure if is_rooted else (text, f"/{text}")
    if where.is_local and is_rooted:
        follow = where.follow
        target = None if follow is None else follow(text)
        if target is None:
            return _all_readings(text, where)
        # The very same text comes back for a path that exists and has no link.
        stored = () if target is text else tuple(_stored(text, where))
        sure = possible = (text, target, *stored)
        return Readings(sure, possible)
    if is_rooted:
        return Readings(sure, possible)
    return Readings(
        sure,
        possible,
        relative=sure,
        has_unknown_base=where.opens_files,
        has_separator="/" in text,
    )


def _all_readings(text: str, where: Surroundings) -> Readings:
    spellings, complete = _spellings(text)
    legible = complete and len(text) <= LONGEST_NAME
    sure: dict[str, None] = {}
    possible: dict[str, None] = {}
    relative: dict[str, None] = {}
    has_unknown_base = False
    for spelling in spellings:
        legible &= _is_sound(spelling)
        sure |= dict.fromkeys(_places(spelling, where))
        possible |= dict.fromkeys(_guesses(spelling))
        for place, is_below_home in _below_a_base(spelling, where):
            relative[place] = None
            has_unknown_base |= is_below_home or not where.bases
    beyond = tuple(_beyond_processes([*sure, *_unwrapped(spellings)], where))
    if beyond:
        sure |= dict.fromkeys(beyond)
        possible |= dict.fromkeys(f"/{path}" for path in beyond)
        relative |= dict.fromkeys(beyond)
        has_unknown_base = True
    possible = dict.fromkeys(spellings) | sure | possible
    if where.folds_case:
        folded = _folded(possible)
        possible |= dict.fromkeys([*folded, *(MAC_ALIAS.sub("", text) for text in folded)])
        relative |= dict.fromkeys(_folded(relative))
    legible = legible and all(map(_is_sound, sure))
    return Readings(
        tuple(sure),
        tuple(possible),
        legible,
        complete,
        tuple(relative),
        has_unknown_base and where.opens_files,
        any("/" in spelling or spelling == ".." for spelling in spellings),
    )


def _beyond_processes(texts: Iterable[str], where: Surroundings) -> Iterable[str]:
    """Yield the parts of paths after a link of a process, without leading `..`."""
    for text in texts:
        if not is_absolute(text):
            if where.bases:
                continue
            text = f"/{text}"  # from an unknown base, `..` may lead to the root
        remainder = process_paths.rest_of(text)
        if remainder is None and ".." in text:
            remainder = process_paths.rest_of(process_paths.without_links(text))
        if remainder is not None:
            yield _UPWARDS.sub("", f"{normal(remainder)}/").strip("/")


def _unwrapped(spellings: Iterable[str]) -> Iterable[str]:
    for text in spellings:
        inner = _WRAPPED.sub("", text)
        file = _FILE_URL.match(inner)
        if inner != text and file is not None:
            yield inner[file.end() :]


def _folded(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple([text.casefold() for text in texts])


def _is_sound(text: str) -> bool:
    return "\0" not in text and _SURROGATES.search(text) is None


def words(text: str, where: Surroundings) -> Readings:
    """Return the readings of a text that is not a path: a command, a word or a sentence."""
    spellings, complete = [text], True
    if not text.isascii() or "%" in text or "\0" in text:
        spellings, complete = _spellings(text, slashes=False)
    sure = possible = tuple(spellings)
    if "  " in text or not text.isprintable() or len(sure) > 1:
        joined = [" ".join(spelling.split()) for spelling in sure]
        cut = [spelling.partition("\0")[0] for spelling in sure]
        possible = tuple(dict.fromkeys([*sure, *joined, *cut]))
    if where.folds_case:
        possible += _folded(possible)
    return Readings(sure, possible, complete and all(map(_is_sound, sure)), complete)


def _spellings(text: str, *, slashes: bool = True) -> tuple[list[str], bool]:
    """Return the results of all orders of decoders, and whether all of them were found."""
    steps = [_decoded, _leniently_decoded, _visible, _compatible, _unlike]
    if slashes:
        steps += (_forward, _unbroken, _expanded)
    if len(text) > LONGEST_NAME:
        return _in_one_order(text, steps)
    spellings = {text: 0}
    waiting = deque([text])
    while waiting:
        spelling = waiting.popleft()
        for step in steps:
            result = step(spelling)
            if result in spellings:
                continue
            decodings = spellings[spelling] + (step in _DECODERS)
            if decodings > MAX_DECODINGS or len(spellings) >= MAX_READINGS:
                return list(spellings), False
            spellings[result] = decodings
            waiting.append(result)
    return list(spellings), True


def _in_one_order(text: str, steps: Sequence[Callable[[str], str]]) -> tuple[list[str], bool]:
    spellings = {text: None}
    for _ in range(MAX_DECODINGS):
        before = text
        for step in steps:
            text = step(text)
            spellings[text] = None
        if text == before:
            return list(spellings), True
    return list(spellings), False


def _decoded(text: str) -> str:
    return unquote(text) if "%" in text else text


def _leniently_decoded(text: str) -> str:
    """Decode like lenient decoders: `%uXXXX`, and overlong UTF-8 sequences of ASCII."""
    if "%" not in text:
        return text
    text = _PERCENT_U.sub(lambda escape: chr(int(escape[1], 16)), text)
    try:
        raw = unquote_to_bytes(text)
    except UnicodeEncodeError:
        return text
    return _OVERLONG.sub(_shortest, raw).decode("utf-8", "replace")


def _shortest(sequence: re.Match[bytes]) -> bytes:
    last = next(group for group in sequence.groups() if group is not None)[0]
    lead = sequence[0][-2]
    return bytes([((lead & 0x03) << 6 | last & 0x3F) & 0x7F])


def _visible(text: str) -> str:
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _compatible(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _unlike(text: str) -> str:
    return text if text.isascii() else text.translate(_LOOKALIKES)


def _forward(text: str) -> str:
    return text.replace("\\", "/")


def _unbroken(text: str) -> str:
    """Drop tabs and line breaks, as programs do that put the text into a URL."""
    return text if text.isprintable() else text.translate(_DROPPED_IN_URLS)


def _expanded(text: str) -> str:
    return _HOME_VARIABLE.sub("~", text)


_DECODERS: tuple[Callable[[str], str], ...] = (_decoded, _leniently_decoded)


def _places(text: str, where: Surroundings) -> Iterable[str]:
    """Yield the paths and URLs that a spelling names; one with `..` also unchanged."""
    plain = text.strip(_BLANK)
    if plain != text:
        yield normal(text)
        yield from _places(plain, where)
        return
    url = _URL.match(text)
    if url is not None and url[1].lower() != "file":
        yield text
        yield from _url_readings(text, url)
        if _leads_out(text):
            yield from _paths(text, where)
        return
    place = text
    file = _FILE_URL.match(text)
    if file is not None:
        yield text
        place = text[file.end() :]
        yield normal(_partition_any(place, "?#")[0])
    if where.folds_case:
        windows = _as_windows_opens(place)
        if windows != place:
            yield from _paths(windows, where)
    yield from _paths(place, where)


def _paths(place: str, where: Surroundings) -> Iterable[str]:
    """Yield the absolute forms of a path, below the server's home and bases if they are known."""
    if place.startswith("~"):
        if where.home is not None and place[1:2] in ("", "/"):
            yield from _one_path(where.home + place[1:], where)
        else:
            yield from _one_path(place, where)
        if not _leads_out(place):
            return  # a server that does not expand `~` opens a folder of that name, or nothing
    if where.bases and not is_absolute(place):
        for base in where.bases:
            yield from _one_path(f"{base}/{place}", where)
    else:
        yield from _one_path(place, where)


def _one_path(place: str, where: Surroundings) -> Iterable[str]:
    short = normal(place)
    yield short
    if ".." in place:
        yield place
        if short.endswith(".."):  # a parent folder, which a pattern of one segment must not cover
            yield f"{short}/"
    if where.is_local and is_absolute(place):
        yield _followed(place, where)
        yield from _stored(short, where)


def _stored(place: str, where: Surroundings) -> Iterable[str]:
    """Yield the targets of existing paths that are stored under another spelling."""
    if len(place) > _MAX_PATH or not place.startswith("/"):
        return
    if process_paths.rest_of(place) is not None:
        return
    for spelling in stored_spellings(place):
        if spelling == UNREADABLE:
            yield spelling
        else:
            yield unicodedata.normalize("NFC", _followed(spelling, where))


def _leads_out(place: str) -> bool:
    """Tell whether the `..` of a relative path lead out of its first segment."""
    return ".." in place and not normal(place).startswith(place.partition("/")[0])


def _below_a_base(text: str, where: Surroundings) -> Iterable[tuple[str, bool]]:
    """Yield the relative paths that a spelling names below a base, without leading `..`.

    Each comes with True if that base is a home folder that is not known.
    """
    text = text.partition("\0")[0].strip(_BLANK)
    for variant in dict.fromkeys([text, _WRAPPED.sub("", text)]):
        file = _FILE_URL.match(variant)
        place = variant if file is None else variant[file.end() :]
        if file is None and _URL.match(variant) is not None and not _leads_out(variant):
            continue
        if where.folds_case:
            place = _DRIVE.sub("", _as_windows_opens(place))
        place = normal(place)
        if is_absolute(place):
            continue
        home = _OTHER_HOME.fullmatch(place)
        if home is None:
            yield _UPWARDS.sub("", f"{place}/").strip("/"), False
        elif where.home is None or home[1]:
            yield (home[2] or "").strip("/"), True


def _as_windows_opens(place: str) -> str:
    """Drop what Windows ignores: trailing blanks and dots, stream names, device prefixes."""
    segments = [segment.rstrip(" ") for segment in _DEVICE.sub("", place).split("/")]
    names = [name if name in (".", "..") else name.rstrip(" .") for name in segments]
    if len(names) > 1:
        names[-1] = names[-1].partition(":")[0]
    return "/".join(names)


def _guesses(text: str) -> Iterable[str]:
    """Yield further readings of a name whose base is not known or that may be cut short."""
    text = text.partition("\0")[0].strip(_BLANK)
    inner = _WRAPPED.sub("", text)
    for variant in dict.fromkeys([text, inner]):
        yield variant
        yield from _url_guesses(variant)
        file = _FILE_URL.match(variant)
        place = normal(variant[file.end() :] if file is not None else variant)
        yield from _rooted(place)
        yield MAC_ALIAS.sub("", place)


def _rooted(place: str) -> Iterable[str]:
    place = _UPWARDS.sub("", place).strip(_BLANK)
    yield place
    home = _OTHER_HOME.fullmatch(place)
    if home is not None:
        path = home[2] or ""
        yield from (f"{folder}{path}" for folder in _homes(home[1]))
    elif not is_absolute(place):
        yield f"/{place}"


def _url_guesses(text: str) -> Iterable[str]:
    """Yield a URL as browsers repair it: `http:/host`, `//host`, tabs inside, odd addresses."""
    url = _LOOSE_URL.match(text.translate(_DROPPED_IN_URLS))
    if url is None:
        return
    host = url[2].rpartition("@")[2].translate(_DOTS).lower()
    name, colon, port = host.rpartition(":")
    if colon and not port.strip("0123456789"):
        host, port = name, port.lstrip("0")
    else:
        port = ""
    host = _address(host.removesuffix("."))
    path = url[3] or "/"
    for scheme in (url[1].lower(),) if url[1] else ("https", "http"):
        usual = not port or f":{port}" == _USUAL_PORTS.get(scheme)
        yield f"{scheme}://{host}{'' if usual else f':{port}'}{path}"


def _address(host: str) -> str:
    """Return an IPv4 address in its usual form, however its numbers are written."""
    parts = host.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return host
    try:
        numbers = [int(_OCTAL.sub("0o", part), 0) for part in parts]
    except ValueError:
        return host
    *heads, last = numbers
    if any(head > 255 for head in heads) or last >= 256 ** (4 - len(heads)):
        return host
    value = last + sum(head << 8 * (3 - place) for place, head in enumerate(heads))
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


def _homes(user: str) -> Iterable[str]:
    if not user:
        return ()
    return ("/root",) if user == "root" else (f"/home/{user}", f"/Users/{user}")


def _url_readings(text: str, url: re.Match[str]) -> Iterable[str]:
    """Yield a URL without its credentials and with a normal path."""
    host = url[2].rpartition("@")[2]
    tail = text[url.end() :]
    path, mark, query = _partition_any(tail, "?#")
    path = normal(path) if path else "/"
    slash = "/" if tail.endswith("/") and not path.endswith("/") else ""
    yield f"{url[1]}://{host}{path}{slash if not mark else ''}{mark}{query}"
    scheme, host = url[1].lower(), host.lower()
    host = host.removesuffix(_USUAL_PORTS.get(scheme, ":")).removesuffix(".")
    yield f"{scheme}://{host}{path}{mark}{query}"


def _partition_any(text: str, marks: str) -> tuple[str, str, str]:
    for place, character in enumerate(text):
        if character in marks:
            return text[:place], character, text[place + 1 :]
    return text, "", ""


def is_absolute(place: str) -> bool:
    """Tell whether the place starts at a root: `/…` or `C:/…`."""
    return place.startswith("/") or (place[1:3] == ":/" and place[0].isalpha())


def normal(place: str) -> str:
    """Return a path without `//`, `.`, `..` and trailing slash; leading `..` stay."""
    absolute = is_absolute(place)
    root, _, tail = place.partition("/") if absolute else ("", "", place)
    segments: list[str] = []
    for segment in tail.split("/"):
        if segment in ("", "."):
            continue
        if segment == ".." and segments and segments[-1] != "..":
            segments.pop()
        elif segment != ".." or not absolute:
            segments.append(segment)
    path = "/".join(segments)
    return f"{root}/{path}" if absolute else path


def _followed(place: str, where: Surroundings) -> str:
    if where.follow is not None and (target := where.follow(place)) is not None:
        return target
    return resolved(place)


def resolved(place: str) -> str:
    """Return the path with its links followed, as far as it exists on this machine.

    A link of a process is not followed: it leads elsewhere for the server.
    """
    if len(place) > _MAX_PATH:
        return "\0"
    try:
        if sys.platform != "win32":
            return process_paths.resolved(place)
        return Path(place).resolve().as_posix()
    except (OSError, RuntimeError, ValueError):  # a loop of links; no name for a file
        return "\0"
