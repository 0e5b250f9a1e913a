"""The command `nacre export`: all that a Being keeps, in a file."""

import gzip
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, cast

import click

from nacre.being.memory.text.memory_text import counted
from nacre.being.memory.transfer.export_file import save
from nacre.being.memory.transfer.exporter import Exports
from nacre.cli.atomic_files import check_free, whole_file
from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, show_json
from nacre.cli.progress import telling
from nacre.core.clock import system_clock

_STDOUT = "-"


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--vectors", is_flag=True, help="Also write vectors: no model is asked on import.")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
@placed
def export(file: str, *, vectors: bool, force: bool, as_json: bool, place: Place) -> None:
    """Write all that a Being keeps to FILE.

    It is packed if its name ends in .gz; - is standard output. The file is yours alone (0600);
    tokens and keys are not in it. Standard output shows the state hash, which is the same
    wherever the Being lives.
    """
    if file == _STDOUT and as_json:
        raise click.UsageError("--json and the export both want standard output; give a FILE")
    if file != _STDOUT:
        check_free(file, replace=force)
    home = place.open()
    being = place.choose(home)
    records = Exports(home.data).records(being.being_id, with_vectors=vectors)
    with _target(file, replace=force) as target, tempfile.TemporaryFile() as spool:
        summary = save(
            records, being, target, spool, now=system_clock(), progress=telling("records")
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
    """Give where the export goes: a file is complete or not there."""
    if file == _STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with whole_file(file, replace=replace) as plain:
        if Path(file).suffix == ".gz":
            # Without a time in it the same state gives the same bytes.
            with gzip.GzipFile("", "wb", fileobj=plain, mtime=0) as packed:
                yield cast("BinaryIO", packed)
        else:
            yield plain
