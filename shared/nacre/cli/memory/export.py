"""The command `nacre export`: everything that a Being keeps, in a file."""

import gzip
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import click

from nacre.being.memory.text.memory_text import counted
from nacre.being.memory.transfer.export_file import save
from nacre.being.memory.transfer.exporter import Exporter
from nacre.cli.atomic_files import atomic_file, check_free
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json
from nacre.cli.progress import progress_lines
from nacre.core.clock import system_clock
from nacre.core.lazy_dataclasses import asdict

_STDOUT = "-"


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--vectors", is_flag=True, help="Include vectors, so that the import needs no model.")
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
@being_options
def export(file: str, *, vectors: bool, force: bool, as_json: bool, place: Place) -> None:
    """Write everything that a Being keeps to FILE.

    A name that ends in .gz is compressed; - is standard output. Only you can read the file (0600).
    It has no tokens or keys. The command prints the state hash, which is the same on every
    machine.
    """
    if file == _STDOUT and as_json:
        raise click.UsageError("--json and the export cannot both use standard output; give a FILE")
    if file != _STDOUT:
        check_free(file, replace=force)
    home, being = place.open_being()
    records = Exporter(home.data).records(being.being_id, with_vectors=vectors)
    with _target(file, replace=force) as target, tempfile.TemporaryFile() as spool:
        summary = save(
            records, being, target, spool, now=system_clock(), progress=progress_lines("records")
        )
    where = "standard output" if file == _STDOUT else file
    if as_json:
        show_json({"file": file, **asdict(summary), "total": summary.total})
        return
    if file != _STDOUT:
        click.echo(summary.state)
    click.echo(f"Exported {being.name}: {counted(summary.total, 'record')} to {where}.", err=True)


@contextmanager
def _target(file: str, *, replace: bool) -> Iterator[BinaryIO]:
    """Open the target of the export; a file is written completely or not at all."""
    if file == _STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_file(file, replace=replace) as content:
        if Path(file).suffix == ".gz":
            # Without a timestamp, the same state gives the same bytes.
            with gzip.GzipFile("", "wb", fileobj=content, mtime=0) as packed:
                yield cast("BinaryIO", packed)
        else:
            yield content
