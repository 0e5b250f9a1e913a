"""Audit commands: the newest records, a check of all of them, and a copy."""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, placed
from nacre.cli.exit_codes import FAILURE, OK
from nacre.core.clock import system_clock
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.firewall.approvals.form import printable
from nacre.firewall.audit.log import verify_chain, verify_lines
from nacre.ports.audit import AuditRecords, Chain
from nacre.wiring.features.firewall import laptop_records, stack_records


@click.group()
def audit() -> None:
    """Read, check and copy the record of what was decided.

    Records hold no values of arguments: their names, kinds, sizes and a digest.
    """


@audit.command()
@click.option(
    "-n",
    "--lines",
    "count",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many.",
)
@click.option("--json", "as_json", is_flag=True, help="Answer with the records as they are kept.")
@placed
def tail(count: int, *, as_json: bool, place: Place) -> None:
    """Show the newest records, oldest first."""
    newest = list(islice(_records(place).newest(), count))
    for line in reversed(newest):
        click.echo(line.decode("utf-8", "replace") if as_json else _told(line))
    if not newest:
        click.echo("Nothing was recorded yet.", err=True)


@audit.command()
@click.argument("file", required=False)
@placed
def verify(file: str | None, *, place: Place) -> int:
    """Find out whether a record was changed, taken out, moved or cut off.

    FILE is a copy that 'nacre audit export' made; '-' is standard input. What is missing
    from the end of a copy cannot be seen in the copy alone.
    """
    if file is None:
        found = [verify_chain(chain) for chain in _records(place).chains()]
    else:
        found = verify_lines(_lines_of(file))
    for each in found:
        click.echo(f"{each.writer}  {counted(each.records, 'record')}  {each.problem or 'whole'}")
    if not found:
        click.echo("Nothing was recorded yet.", err=True)
    return FAILURE if any(each.problem for each in found) else OK


@audit.command()
@click.argument("file", default="-")
@placed
def export(file: str, *, place: Place) -> None:
    """Write all records to FILE, one JSON object on each line; '-' is standard output."""
    chains = _records(place).chains()
    if file == "-":
        sys.stdout.flush()
        written = _copied(chains, sys.stdout.buffer)
    else:
        path = Path(file)
        try:
            path.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            raise InvalidInputError(f"{file} exists; name another file") from None
        except OSError as error:
            raise InvalidInputError(f"{file} cannot be written ({error.strerror})") from error
        with path.open("wb") as out:
            written = _copied(chains, out)
    click.echo(f"Wrote {counted(written, 'record')}.", err=True)


def _records(place: Place) -> AuditRecords:
    home = place.open()
    if place.stack:
        return stack_records(home.data, place.choose(home).being_id, system_clock)
    return laptop_records(Path(place.folder()), home.data)


def _copied(chains: Iterable[Chain], out: Any) -> int:
    count = 0
    for chain in chains:
        for line in chain.lines:
            out.write(line + b"\n")
            count += 1
    return count


def _lines_of(file: str) -> Iterator[bytes]:
    if file == "-":
        yield from (line.rstrip(b"\n") for line in sys.stdin.buffer)
        return
    try:
        with Path(file).open("rb") as lines:
            yield from (line.rstrip(b"\n") for line in lines)
    except OSError as error:
        raise NotFoundError(f"{file} cannot be read ({error.strerror})") from error


def _told(line: bytes) -> str:
    try:
        record = json.loads(line)
        said = [
            str(record["at"])[:19] + "Z",
            f"{record['outcome']:<6}",
            str(record["server"]),
            str(record["method"]),
            str(record.get("tool", "")),
            f"rule {record['rule']}" if "rule" in record else "",
            "" if record.get("enforced", True) else "(monitored)",
            str(record.get("principal", "")),
            str(record.get("note", "")),
            f"{record['writer']}/{record['seq']}",
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "(not a whole record; see 'nacre audit verify')"
    return printable("  ".join(each for each in said if each))
