"""A process of its own that takes the text out of one PDF, which comes by standard input.

    python process.py TEXT_BYTES PAGES SECONDS MEMORY_BYTES < PDF

Whoever wrote the document chooses what happens here, so that the process bounds its time and
memory and may write no file. It prints the number of pages, then each page's text as a line
of JSON, so that what was read before a bound was met is not lost.
"""

import io
import itertools
import json
import sys

LOCKED = "locked"


def main(most: int, pages: int, seconds: int, memory: int) -> None:
    """Print what the document says, up to `most` bytes of text and so many pages."""
    _bind(seconds, memory)
    document = io.BytesIO(sys.stdin.buffer.read())
    import pypdf  # after the bounds  # noqa: PLC0415

    reader = pypdf.PdfReader(document, strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        _say({"error": LOCKED})
        return
    _say({"pages": len(reader.pages)})
    for page in itertools.islice(reader.pages, pages):
        text = page.extract_text()[: most + 1]
        _say({"text": text})
        most -= len(text.encode("utf-8", "replace"))
        if most < 0:
            return


def _say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _bind(seconds: int, memory: int) -> None:
    try:
        import resource  # noqa: PLC0415
    except ImportError:  # Windows: only the parent's patience bounds it
        return
    for what, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(what, (most, most))
        except (OSError, ValueError):  # macOS has no such bound for addresses
            continue


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
