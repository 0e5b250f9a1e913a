"""The command `nacre why`: trace a memory, a scene or a recorded call back to its causes."""

from collections.abc import Iterator

import click

from nacre.access.beings import Being
from nacre.access.tokens.store import caller_names
from nacre.being.provenance.audited_calls import audited_call
from nacre.being.provenance.calls import why_call
from nacre.being.provenance.cause import Cause
from nacre.being.provenance.memories import Sources, why_memory
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json, without_controls
from nacre.core.errors import NotFoundError
from nacre.wiring.compose import Home


@click.command()
@click.argument("of", metavar="CALL|MEMORY")
@json_option
@being_options
def why(of: str, *, as_json: bool, place: Place) -> None:
    """Trace a memory or a call back to messages, results and runs.

    MEMORY is the id of a memory or of a scene: who told it, from which messages and results, which
    patrol made it, and what was merged and corrected. CALL is the name of a record, as at the end
    of a line of 'nacre audit tail': who called, what decided, and what the caller had received.
    """
    home = place.open()
    if "/" in of:
        being, cause = _why_call(home, place, of)
    else:
        being = place.choose(home)
        cause = why_memory(_sources(home, being.being_id), being.being_id, of)
    if as_json:
        owned = {} if being is None else {"being": being.name, "being_id": being.being_id}
        show_json({**owned, **cause.to_plain()})
        return
    for line in lines_of(cause):
        click.echo(line)


def _why_call(home: Home, place: Place, name: str) -> tuple[Being | None, Cause]:
    being = place.choose(home) if place.stack or place.being else None
    records = home.ports.records(being.being_id if being else "")
    call = audited_call(records, name.strip())
    of_being = call.text("being")
    if not of_being:
        return None, why_call(_sources(home, ""), "", call)
    owned = _own_being(home, place, of_being)
    if owned is None or (being is not None and being != owned):
        raise NotFoundError(
            f"the record {call.name} belongs to another Being; give its --owner and --being"
        )
    return owned, why_call(_sources(home, owned.being_id), owned.being_id, call)


def _own_being(home: Home, place: Place, being_id: str) -> Being | None:
    beings = home.beings.of_owner(place.owner_name)
    return next((being for being in beings if being.being_id == being_id), None)


def _sources(home: Home, being_id: str) -> Sources:
    return Sources(
        table=home.data,
        memory=home.memory_services.memory,
        records=home.ports.records(being_id),
        callers=caller_names(home.tokens.of_being(being_id)) if being_id else {},
    )


def lines_of(cause: Cause, depth: int = 0) -> Iterator[str]:
    """Yield a cause and everything behind it as lines, each level further to the right."""
    edge = "  " * depth
    yield edge + _head(cause)
    inner = f"{edge}    "
    for line in without_controls(cause.text).splitlines():
        yield f"{inner}| {line}"
    for name, value in cause.facts:
        yield f"{inner}{name}: {_in_line(value)}"
    for sentence in cause.unknown:
        yield f"{inner}({_in_line(sentence)})"
    for below in cause.causes:
        yield from lines_of(below, depth + 1)
    if cause.more > 0:
        yield f"{edge}  and {cause.more} more"


def _head(cause: Cause) -> str:
    head = f"{cause.kind} {cause.id}".rstrip()
    if cause.relation:
        head = f"- {cause.relation}: {head}" if cause.id else f"- {cause.relation}"
    at = f", {cause.at[:19]}Z" if cause.at else ""
    by_time = " (by its time)" if cause.link == "time" else ""
    return _in_line(f"{head}{at}{by_time}")


def _in_line(text: str) -> str:
    return " ".join(without_controls(text).split())
