"""The command `nacre audit`: show, verify and export the audit log."""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, being_options
from nacre.cli.exit_codes import FAILURE, OK
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.firewall.approvals.form import printable
from nacre.firewall.audit.log import verify_chain, verify_lines
from nacre.ports.audit import AuditRecords, Chain


@click.group()
def audit() -> None:
    """Read, verify and export the audit log of decisions.

    Records have the names, types and sizes of arguments and a digest, but not their values.
    """


@audit.command()
@click.option(
    "-n",
    "--lines",
    "count",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Number of records.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the stored records.")
@being_options
def tail(count: int, *, as_json: bool, place: Place) -> None:
    """Show the newest records, oldest first."""
    newest = list(islice(audit_records(place).newest(), count))
    for line in reversed(newest):
        click.echo(line.decode("utf-8", "replace") if as_json else _summary(line))
    if not newest:
        click.echo("There are no records yet.", err=True)


@audit.command()
@click.argument("file", required=False)
@being_options
def verify(file: str | None, *, place: Place) -> int:
    """Check that no record was changed, removed, moved or cut off.

    FILE is a copy from 'nacre audit export'; '-' is standard input. A copy alone cannot show
    whether records at its end are missing.
    """
    if file is None:
        chains = [verify_chain(chain) for chain in audit_records(place).chains()]
    else:
        chains = verify_lines(lines_of(file))
    for chain in chains:
        records = counted(chain.records, "record")
        click.echo(f"{chain.writer}  {records}  {chain.problem or 'complete'}")
    if not chains:
        click.echo("There are no records yet.", err=True)
    return FAILURE if any(chain.problem for chain in chains) else OK


@audit.command()
@click.argument("file", default="-")
@being_options
def export(file: str, *, place: Place) -> None:
    """Write all records to FILE, one JSON object on each line. '-' is standard output."""
    chains = audit_records(place).chains()
    if file == "-":
        sys.stdout.flush()
        count = _copied(chains, sys.stdout.buffer)
    else:
        path = Path(file)
        try:
            path.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            raise InvalidInputError(f"{file} already exists; name another file") from None
        except OSError as error:
            raise InvalidInputError(f"{file} cannot be written ({error.strerror})") from error
        with path.open("wb") as out:
            count = _copied(chains, out)
    click.echo(f"Wrote {counted(count, 'record')}.", err=True)


def audit_records(place: Place) -> AuditRecords:
    """Return the audit log of this machine or of a stack."""
    home = place.open()
    return home.ports.records(place.choose(home).being_id if place.stack else "")


def _copied(chains: Iterable[Chain], out: Any) -> int:
    count = 0
    for chain in chains:
        for line in chain.lines:
            out.write(line + b"\n")
            count += 1
    return count


def lines_of(file: str) -> Iterator[bytes]:
    """Yield the lines of a copy of an audit log; `-` is standard input."""
    if file == "-":
        yield from (line.rstrip(b"\n") for line in sys.stdin.buffer)
        return
    try:
        with Path(file).open("rb") as lines:
            yield from (line.rstrip(b"\n") for line in lines)
    except OSError as error:
        raise NotFoundError(f"{file} cannot be read ({error.strerror})") from error


def _summary(line: bytes) -> str:
    try:
        record = json.loads(line)
        parts = [
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
        return "(not a complete record; see 'nacre audit verify')"
    return printable("  ".join(part for part in parts if part))
