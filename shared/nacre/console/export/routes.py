"""The page that downloads everything a Being keeps as one file."""

import gzip
import tempfile
from collections.abc import Iterator
from io import SEEK_END
from typing import IO, BinaryIO, cast

from fastapi import APIRouter
from fastapi.responses import Response, StreamingResponse

from nacre.being.memory.transfer.export_file import save
from nacre.being.memory.transfer.exporter import Exporter
from nacre.console.visits import PageVisit, Visit
from nacre.core.clock import system_clock
from nacre.web.rendering import headers

routes = APIRouter(prefix="/beings/{being_id}/export")

_PIECE = 256 * 1024
_IN_MEMORY = 4 * 1024 * 1024  # a larger file waits on the disk


@routes.get("")
def show_export(at: PageVisit) -> Response:
    """Show what an export contains, with a link to download it."""
    return at.show("export/export.html", here="export", command=_command(at))


@routes.get("/file")
def download(at: PageVisit) -> Response:
    """Send the compressed export; if it is too large for this server, show the command."""
    packed = _packed(at)
    size = packed.seek(0, SEEK_END)
    most = at.parts.largest_answer
    if most is not None and size > most:
        packed.close()
        return at.show(
            "export/export.html",
            here="export",
            status=413,
            problem="the export is too large to download here; use the command",
            command=_command(at),
        )
    packed.seek(0)
    sent = {
        **headers(at.request),
        "Content-Disposition": f'attachment; filename="{_file_name(at.being.name)}"',
        "Content-Length": str(size),
    }
    return StreamingResponse(_pieces(packed), 200, sent, "application/gzip")


def _packed(at: Visit) -> "IO[bytes]":
    packed = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  closed when it was sent
    try:
        records = Exporter(at.parts.table()).records(at.being_id)
        # Without a timestamp, the same state gives the same bytes.
        with (
            tempfile.TemporaryFile() as spool,
            gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as target,
        ):
            save(records, at.being, cast("BinaryIO", target), spool, now=system_clock())
    except BaseException:
        packed.close()
        raise
    return packed


def _pieces(file: "IO[bytes]") -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE):
            yield piece


def _file_name(name: str) -> str:
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name)
    return f"nacre-{plain.strip('-') or 'being'}-{system_clock():%Y-%m-%d}.jsonl.gz"


def _command(at: Visit) -> str:
    return at.parts.export_command.format(being=at.being_id)
