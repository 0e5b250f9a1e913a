"""Small files of every type that an order takes, and PDFs that mean harm."""

import base64
import io
import struct
import tarfile
import zlib
from collections.abc import Mapping, Sequence

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(size: int = 0) -> bytes:
    """Return a PNG of one grey pixel, of this many bytes where more are asked for."""
    head = PNG_SIGNATURE + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    tail = _chunk(b"IDAT", zlib.compress(b"\0\x80")) + _chunk(b"IEND", b"")
    space = size - len(head) - len(tail) - 12
    return head + (_chunk(b"teXt", b"\0" * space) if space >= 0 else b"") + tail


def riff(form: bytes, size: int = 16) -> bytes:
    return b"RIFF" + struct.pack("<I", size + 4) + form + bytes(size)


def tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo("../escape.txt")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"hi"))
    return packed.getvalue()


def pdf(*pages: str, kids: str = "", objects: Sequence[bytes] = ()) -> bytes:
    """Return a PDF with these texts, one a page; `kids` and `objects` are for bad ones."""
    streams = [f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1") for text in pages]
    numbers = [5 + 2 * index for index in range(len(pages))]
    listed = kids or " ".join(f"{number} 0 R" for number in numbers)
    bodies = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {max(1, len(pages))}/Kids[{listed}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"null",
    ]
    for number, stream in zip(numbers, streams, strict=True):
        bodies.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {number + 1} 0 R"
            "/Resources<</Font<</F1 3 0 R>>>>>>".encode()
        )
        bodies.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
    return assembled([*bodies, *objects])


def assembled(bodies: Sequence[bytes], trailer: bytes = b"") -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer<</Size %d/Root 1 0 R%s>>\n" % (len(bodies) + 1, trailer)
    out += b"startxref\n%d\n%%%%EOF\n" % start
    return bytes(out)


def bomb(megabytes: int) -> bytes:
    """Return a PDF whose only page unpacks to so much."""
    packer = zlib.compressobj(9)
    texts = b"(a) Tj " * (1024 * 1024 // 7)
    stream = b"".join(packer.compress(texts) for _ in range(megabytes)) + packer.flush()
    return assembled(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R/Resources<<>>>>",
            b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(stream), stream),
        ]
    )


SAMPLES: Mapping[str, bytes] = {
    "image/jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0" + bytes(9) + b"\xff\xd9",
    "image/png": png(),
    "image/gif": b"GIF89a\1\0\1\0\0\0\0;",
    "image/webp": riff(b"WEBP"),
    "application/pdf": pdf("hello"),
    "text/plain": "Grüße, 世界 🐚\n".encode(),
    "text/markdown": b"# Title\n\n```\ncode\n```\n",
    "text/html": b"<p>hello <script>alert(1)</script></p>",
    "text/csv": b"\xef\xbb\xbfa,b\r\n1,2\r\n",
    "application/json": b'{"a": 1}',
    "audio/mpeg": b"ID3\4\0\0\0\0\0\0" + bytes(20),
    "audio/wav": riff(b"WAVE"),
    "audio/ogg": b"OggS\0\2" + bytes(30),
    "audio/mp4": b"\0\0\0\x18ftypM4A " + bytes(12),
    "audio/aac": b"\xff\xf1\x50\x80" + bytes(20),
    "audio/flac": b"fLaC\0\0\0\x22" + bytes(34),
    "audio/opus": b"OggS\0\2" + bytes(22) + b"OpusHead\1\2",
    "video/mp4": b"\0\0\0\x18ftypisom" + bytes(12),
    "video/webm": b"\x1aE\xdf\xa3\x9fB\x86\x81\1B\xf7\x81\1B\xf2\x81\4B\xf3\x81\x08B\x82\x84webm",
    "video/quicktime": b"\0\0\0\x14ftypqt  " + bytes(8),
    "video/x-msvideo": riff(b"AVI "),
    "application/zip": b"PK\5\6" + bytes(18),
    "application/gzip": b"\x1f\x8b\x08" + bytes(17),
    "application/x-tar": tar(),
    "application/x-compressed-tar": b"\x1f\x8b\x08" + bytes(17),
}


def sent(data: bytes | str, mime_type: str, name: str | None = None) -> dict[str, str]:
    """Return an item as a call carries it; a text is taken for base64 as it is."""
    text = data if isinstance(data, str) else base64.b64encode(data).decode()
    item = {"data": text, "mimeType": mime_type}
    return item if name is None else {**item, "filename": name}
