"""The text of PDFs by pypdf, in a process that a hostile document may bring down."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.adapters.pdf.process import LOCKED
from nacre.core.errors import InvalidInputError, UnavailableError
from nacre.core.limits import ATTACHED_TEXT_BYTES, PDF_MEMORY_BYTES, PDF_PAGES, PDF_SECONDS
from nacre.ports.documents import DocumentText

_PROGRAM = Path(__file__).with_name("process.py")


class PypdfReader:
    """A DocumentReader; each document has a process without secrets, files and patience.

    `environment` is what the interpreter needs on this system to start at all.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, *, seconds: float = PDF_SECONDS
    ) -> None:
        self._environment = {**(environment or {}), "PYTHONPATH": _libraries()}
        self._seconds = seconds
        self._program = _PROGRAM

    def read(self, document: bytes) -> DocumentText:
        """Return the text; raise InvalidInputError for a document that cannot be read."""
        # -P: what stands beside the program is none of its libraries.
        bounds = (ATTACHED_TEXT_BYTES, PDF_PAGES, math.ceil(self._seconds), PDF_MEMORY_BYTES)
        command = [sys.executable, "-P", str(self._program), *map(str, bounds)]
        try:
            process = subprocess.Popen(  # noqa: S603  our own program
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environment,
            )
        except OSError:
            raise UnavailableError("no process could be started to read it") from None
        with process:
            try:
                said, _ = process.communicate(document, timeout=self._seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                said, _ = process.communicate()
            except BaseException:
                process.kill()
                raise
        return _told(said)


def _libraries() -> str:
    return os.pathsep.join(filter(os.path.isabs, sys.path))


def _told(said: bytes) -> DocumentText:
    # Of a line without its end, the process was stopped in the middle.
    head, *pages = [_line(line) for line in said.split(b"\n")[:-1]] or [{}]
    if head.get("error") == LOCKED:
        raise InvalidInputError("it is protected by a password")
    if not isinstance(head.get("pages"), int):
        raise InvalidInputError("it is damaged, or takes too much time or memory to read")
    texts = [str(page.get("text", "")) for page in pages]
    return DocumentText("\n\n".join(texts), pages=head["pages"], read=len(texts))


def _line(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
