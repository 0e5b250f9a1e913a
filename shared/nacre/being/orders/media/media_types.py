"""The media types that an order accepts, and the first bytes of each."""

from collections.abc import Callable, Mapping
from typing import Literal

from nacre.core.lazy_dataclasses import dataclass

Group = Literal["image", "document", "text", "audio", "video", "archive"]

_TAR_HEADER = 512
_SPACES = b" \t\r\n\x0c"


@dataclass(frozen=True, slots=True)
class MediaType:
    """One accepted type; `begins` checks the first 2,048 bytes of a content."""

    name: str
    group: Group
    extension: str
    begins: Callable[[bytes], bool]


def _magic(*beginnings: bytes, at: int = 0) -> Callable[[bytes], bool]:
    return lambda data: data.startswith(beginnings, at)


def _riff(form: bytes) -> Callable[[bytes], bool]:
    return lambda data: data[:4] in (b"RIFF", b"RF64") and data[8:12] == form


def _mpeg_audio(data: bytes) -> bool:
    """Return whether the data begin with an MPEG audio frame, or with an ID3 tag before one."""
    if data.startswith(b"ID3"):
        return True
    return len(data) > 1 and data[0] == 0xFF and data[1] & 0xE0 == 0xE0 and data[1] & 0x06 != 0


def _adts(data: bytes) -> bool:
    return len(data) > 1 and data[0] == 0xFF and data[1] & 0xF6 == 0xF0


def _aac(data: bytes) -> bool:
    return data.startswith((b"ADIF", b"ID3")) or _adts(data)


def _webm(data: bytes) -> bool:
    return data.startswith(b"\x1aE\xdf\xa3") and b"webm" in data[:1024]


def _opus(data: bytes) -> bool:
    return data.startswith(b"OggS") and b"OpusHead" in data[:512]


def _pdf(data: bytes) -> bool:
    return data[:1024].removeprefix(b"\xef\xbb\xbf").lstrip(_SPACES).startswith(b"%PDF-")


def _tar(data: bytes) -> bool:
    """Return whether the data begin with a tar header, in any dialect, by its checksum."""
    header = data[:_TAR_HEADER]
    if len(header) < _TAR_HEADER:
        return False
    if not any(header):  # two empty records are an empty archive
        return len(data) >= 2 * _TAR_HEADER and not any(data[: 2 * _TAR_HEADER])
    try:
        checksum = int(header[148:156].strip(b" \0"), 8)
    except ValueError:
        return False
    return checksum == sum(header) - sum(header[148:156]) + 8 * ord(" ")


def _never(_data: bytes) -> bool:
    """Return False, because only the whole content shows whether it is text."""
    return False


_ISO_MEDIA = _magic(b"ftyp", at=4)
_QUICKTIME = _magic(b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip", b"pnot", at=4)
_GZIP = _magic(b"\x1f\x8b\x08")

_TYPES = (
    MediaType("image/jpeg", "image", "jpg", _magic(b"\xff\xd8\xff")),
    MediaType("image/png", "image", "png", _magic(b"\x89PNG\r\n\x1a\n")),
    MediaType("image/gif", "image", "gif", _magic(b"GIF87a", b"GIF89a")),
    MediaType("image/webp", "image", "webp", _riff(b"WEBP")),
    MediaType("application/pdf", "document", "pdf", _pdf),
    MediaType("text/plain", "text", "txt", _never),
    MediaType("text/markdown", "text", "md", _never),
    MediaType("text/html", "text", "html", _never),
    MediaType("text/csv", "text", "csv", _never),
    MediaType("application/json", "text", "json", _never),
    MediaType("audio/mpeg", "audio", "mp3", _mpeg_audio),
    MediaType("audio/wav", "audio", "wav", _riff(b"WAVE")),
    MediaType("audio/ogg", "audio", "ogg", _magic(b"OggS")),
    MediaType("audio/mp4", "audio", "m4a", _ISO_MEDIA),
    MediaType("audio/aac", "audio", "aac", _aac),
    MediaType("audio/flac", "audio", "flac", _magic(b"fLaC")),
    MediaType("audio/opus", "audio", "opus", _opus),
    MediaType("video/mp4", "video", "mp4", _ISO_MEDIA),
    MediaType("video/webm", "video", "webm", _webm),
    MediaType("video/quicktime", "video", "mov", _QUICKTIME),
    MediaType("video/x-msvideo", "video", "avi", _riff(b"AVI ")),
    MediaType("application/zip", "archive", "zip", _magic(b"PK\3\4", b"PK\5\6", b"PK\7\x08")),
    MediaType("application/gzip", "archive", "gz", _GZIP),
    MediaType("application/x-tar", "archive", "tar", _tar),
    MediaType("application/x-compressed-tar", "archive", "tar.gz", _GZIP),
)

ALL: Mapping[str, MediaType] = {entry.name: entry for entry in _TYPES}
IMAGES: Mapping[str, MediaType] = {name: e for name, e in ALL.items() if e.group == "image"}
FILES: Mapping[str, MediaType] = {name: e for name, e in ALL.items() if e.group != "image"}


# Other contents may begin like an MPEG frame or an empty archive, so these prove little.
_UNSURE = (_mpeg_audio, _aac, _tar)


def likely_type(head: bytes) -> str:
    """Return the likely type of a content by its first bytes, or an empty text."""
    for media_type in _TYPES:
        if media_type.begins not in _UNSURE and media_type.begins(head):
            return media_type.name
    return ""
