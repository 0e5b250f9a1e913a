"""Read the text of PDFs with pypdf, in a separate process that a hostile document may crash."""

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
from nacre.ports.media.documents import DocumentText

_PROGRAM = Path(__file__).with_name("process.py")


class PypdfReader:
    """A DocumentReader. Each document gets its own process, without secrets, and with a timeout.

    `environment` has the variables that the interpreter needs to start on this system.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, *, seconds: float = PDF_SECONDS
    ) -> None:
        self._environment = {**(environment or {}), "PYTHONPATH": _libraries()}
        self._seconds = seconds
        self._program = _PROGRAM

    def read(self, document: bytes) -> DocumentText:
        """Return the text; raises InvalidInputError if the document cannot be read."""
        # -P: modules beside the program must not be imported.
        limits = (ATTACHED_TEXT_BYTES, PDF_PAGES, math.ceil(self._seconds), PDF_MEMORY_BYTES)
        command = [sys.executable, "-P", str(self._program), *map(str, limits)]
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
                output, _ = process.communicate(document, timeout=self._seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
            except BaseException:
                process.kill()
                raise
        return _document_text(output)


def _libraries() -> str:
    return os.pathsep.join(filter(os.path.isabs, sys.path))


def _document_text(output: bytes) -> DocumentText:
    # A last line without a line end was cut off when the process was stopped.
    head, *pages = [_line(line) for line in output.split(b"\n")[:-1]] or [{}]
    if head.get("error") == LOCKED:
        raise InvalidInputError("it is protected by a password")
    if not isinstance(head.get("pages"), int):
        raise InvalidInputError("it is damaged, or takes too much time or memory to read")
    texts = [str(page.get("text", "")) for page in pages]
    return DocumentText("\n\n".join(texts), pages=head["pages"], read=len(texts))


def _line(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
