"""Checks of a content while it is decoded piece by piece."""

import codecs
import hashlib
from collections.abc import Iterable

from nacre.being.orders.media.media_types import MediaType

_HEAD = 2048  # bytes; enough to recognise any type
_ENDS = {"image/png": b"IEND\xaeB`\x82", "image/jpeg": b"\xff\xd9"}
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class DecodedContent:
    """The first bytes, the hash and the faults of a content that was declared as one type."""

    def __init__(self, declared: MediaType, pieces: Iterable[bytes]) -> None:
        self._declared = declared
        self.head = b""
        self.size = 0
        self.is_text = True
        digest = hashlib.sha256()
        reader: codecs.IncrementalDecoder | None = None
        end = _ENDS.get(declared.name, b"")
        tail, ended = b"", not end
        for piece in pieces:
            digest.update(piece)
            self.size += len(piece)
            if len(self.head) < _HEAD:
                self.head = (self.head + piece)[:_HEAD]
            if not ended:
                ended = end in tail + piece
                tail = piece[-len(end) :]
            if self.is_text:
                reader = reader or text_decoder(piece)
                self.is_text = _is_text(reader, piece)
        if self.is_text and reader is not None:
            self.is_text = _is_text(reader, b"", final=True)
        self._ended = ended
        self.sha256 = digest.hexdigest()

    def fits(self) -> bool:
        """Return whether the content is of the declared type."""
        if self._declared.group == "text":
            return self.is_text
        return self._declared.begins(self.head)

    def is_cut(self) -> bool:
        """Return whether an image lacks its end; bytes after the end are ignored."""
        if self._declared.name == "image/webp":
            return int.from_bytes(self.head[4:8], "little") + 8 > self.size
        return not self._ended


def text_decoder(beginning: bytes) -> codecs.IncrementalDecoder:
    """Return the decoder of a text with these first bytes: UTF-16 with a mark, else UTF-8."""
    return codecs.getincrementaldecoder("utf-16" if beginning.startswith(_WIDE) else "utf-8-sig")()


def _is_text(reader: codecs.IncrementalDecoder, piece: bytes, *, final: bool = False) -> bool:
    try:
        return "\0" not in reader.decode(piece, final)
    except UnicodeDecodeError:
        return False
