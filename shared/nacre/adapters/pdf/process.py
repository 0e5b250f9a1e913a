"""The program that extracts the text of one PDF, which it reads from standard input.

    python process.py TEXT_BYTES PAGES SECONDS MEMORY_BYTES < PDF

The document may be hostile, so the process limits its time and its memory, and it cannot write
files. It prints the number of pages, then the text of each page as a line of JSON. So the pages
that were read before a limit was reached are not lost.
"""

import io
import itertools
import json
import sys

LOCKED = "locked"


def main(most: int, pages: int, seconds: int, memory: int) -> None:
    """Print the text of the document, up to `most` bytes and a number of pages."""
    _limit(seconds, memory)
    document = io.BytesIO(sys.stdin.buffer.read())
    import pypdf  # after the limits  # noqa: PLC0415

    reader = pypdf.PdfReader(document, strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        _print_line({"error": LOCKED})
        return
    _print_line({"pages": len(reader.pages)})
    for page in itertools.islice(reader.pages, pages):
        text = page.extract_text()[: most + 1]
        _print_line({"text": text})
        most -= len(text.encode("utf-8", "replace"))
        if most < 0:
            return


def _print_line(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _limit(seconds: int, memory: int) -> None:
    try:
        import resource  # noqa: PLC0415
    except ImportError:  # Windows: only the parent's timeout limits it
        return
    for resource_kind, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(resource_kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(resource_kind, (most, most))
        except (OSError, ValueError):  # macOS has no limit on the address space
            continue


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
