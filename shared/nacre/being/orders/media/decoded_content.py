"""What is found out about a content while it is decoded, piece by piece."""

import codecs
import hashlib
from collections.abc import Iterable

from nacre.being.orders.media.media_types import MediaType

_HEAD = 2048  # what any type is known by
_ENDS = {"image/png": b"IEND\xaeB`\x82", "image/jpeg": b"\xff\xd9"}
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Content:
    """The beginning, the hash and the faults of a content of one declared type."""

    def __init__(self, declared: MediaType, pieces: Iterable[bytes]) -> None:
        self._declared = declared
        self.head = b""
        self.size = 0
        self.is_text = True
        hashed = hashlib.sha256()
        reader: codecs.IncrementalDecoder | None = None
        end = _ENDS.get(declared.name, b"")
        tail, ended = b"", not end
        for piece in pieces:
            hashed.update(piece)
            self.size += len(piece)
            if len(self.head) < _HEAD:
                self.head = (self.head + piece)[:_HEAD]
            if not ended:
                ended = end in tail + piece
                tail = piece[-len(end) :]
            if self.is_text:
                reader = reader or decoder(piece)
                self.is_text = _reads(reader, piece)
        if self.is_text and reader is not None:
            self.is_text = _reads(reader, b"", final=True)
        self._ended = ended
        self.sha256 = hashed.hexdigest()

    def fits(self) -> bool:
        """Whether the content is of the declared type."""
        if self._declared.group == "text":
            return self.is_text
        return self._declared.begins(self.head)

    def is_cut(self) -> bool:
        """Whether an image lacks its end; what follows the end is of no concern."""
        if self._declared.name == "image/webp":
            return int.from_bytes(self.head[4:8], "little") + 8 > self.size
        return not self._ended


def decoder(beginning: bytes) -> codecs.IncrementalDecoder:
    """Return what reads a text that begins so: UTF-16 with a mark, else UTF-8."""
    return codecs.getincrementaldecoder("utf-16" if beginning.startswith(_WIDE) else "utf-8-sig")()


def _reads(reader: codecs.IncrementalDecoder, piece: bytes, *, final: bool = False) -> bool:
    try:
        return "\0" not in reader.decode(piece, final)
    except UnicodeDecodeError:
        return False
