"""The command `nacre dlq`: background work that was given up, and a way back into the queue."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime

import click

from nacre.cli.being_options import Place, placed
from nacre.cli.display import json_option, moment, show_json, show_table
from nacre.cli.exit_codes import FAILURE
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.jobs.job import UnknownJobError, decode_job
from nacre.ports.dead_letters import DeadLetter, DeadLetters

_SHOWN = 50
# A poisoned message may hold anything where an id belongs, and contents are not shown.
_ID = re.compile(r"[A-Za-z0-9._:#@/+=-]{1,128}")


@dataclass(frozen=True, slots=True)
class _Fact:
    """What may be told of a letter: ids, and no contents."""

    id: str
    kind: str | None
    being_id: str | None
    group: str | None
    died_at: datetime
    tried: int
    why: str | None  # it can never be done; of what failed, the log has the errors

    def to_plain(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "being_id": self.being_id,
            "group": self.group,
            "died_at": moment(self.died_at),
            "tried": self.tried,
            "why": self.why,
        }


_Found = Iterator[tuple[DeadLetter, _Fact]]


@click.group()
def dlq() -> None:
    """See the background work that was given up, and queue it again."""


@dlq.command()
@click.option("--limit", type=click.IntRange(1, 500), default=_SHOWN, show_default=True,
              help="How many jobs.")  # fmt: skip
@json_option
@placed
def show(*, limit: int, as_json: bool, place: Place) -> None:
    """List the jobs that failed three times: ids only, no contents.

    With --being those of that Being alone. Why a job failed is in the log of the worker, under
    the same id. A stack hands out ten jobs of one group; the others are seen once those are back
    in the queue.
    """
    facts: list[_Fact] = []
    with _looking(place) as (dead_letters, found):
        for _, fact in found:
            facts.append(fact)
            if len(facts) == limit:
                break
        more = 0 if place.being else dead_letters.count() - len(facts)
    if as_json:
        show_json([fact.to_plain() for fact in facts])
    elif facts:
        head = ("ID", "KIND", "BEING", "GIVEN UP", "TRIED", "WHY")
        show_table(head, map(_row, facts))
    elif more <= 0:
        click.echo("Nothing was given up.", err=True)
    if more > 0:
        click.echo(f"{more} more not shown.", err=True)


@dlq.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Queue also what cannot be read as a job.")
@click.option("--dry-run", is_flag=True, help="Only say what would be queued.")
@json_option
@placed
@click.pass_context
def redrive(
    context: click.Context,
    ids: tuple[str, ...],
    *,
    every: bool,
    dry_run: bool,
    as_json: bool,
    place: Place,
) -> None:
    """Queue jobs again: those with the IDs, or all that can be read.

    Remove first what made them fail. A job goes behind what waits in its group, and has three
    attempts again. What cannot be read as a job is named and stays, except with --all. When
    interrupted, run it again; nothing is lost.
    """
    if ids and every:
        raise InvalidInputError("--all queues everything; give either IDs or --all")
    wanted = set(ids)
    queued: list[_Fact] = []
    left: list[_Fact] = []
    with _looking(place) as (dead_letters, found):
        for letter, fact in _among(wanted, found) if ids else found:
            if fact.why is not None and not every:
                left.append(fact)
            elif dry_run or dead_letters.send_back(letter):
                queued.append(fact)
    if as_json:
        told = {"queued": queued, "left": left}
        plain = {name: [fact.to_plain() for fact in facts] for name, facts in told.items()}
        show_json({"dry_run": dry_run, **plain})
    else:
        _tell(queued, left, "would be queued again" if dry_run else "queued again")
    if wanted:
        named = ", ".join(sorted(each[:40] for each in wanted))
        raise NotFoundError(f"nothing lies there under {named}; 'nacre dlq show' lists what does")
    if left:
        context.exit(FAILURE)


@contextmanager
def _looking(place: Place) -> Iterator[tuple[DeadLetters, _Found]]:
    """Give what lies there, of the Being alone where one is named."""
    home = place.open()
    being_id = place.choose(home).being_id if place.being else None
    dead_letters = home.dead_letters()
    with closing(dead_letters.look()) as letters:
        told = ((letter, _fact(letter)) for letter in letters)
        yield dead_letters, (each for each in told if being_id in (None, each[1].being_id))


def _among(wanted: set[str], found: _Found) -> _Found:
    """Yield those that are wanted, and strike them off."""
    for letter, fact in found:
        if letter.id in wanted:
            wanted.discard(letter.id)
            yield letter, fact
            if not wanted:
                return


def _tell(queued: list[_Fact], left: list[_Fact], what: str) -> None:
    for fact in queued:
        click.echo(f"{fact.id}  {fact.kind or '-'}  {fact.being_id or '-'}")
    click.echo(f"{len(queued)} {what}, {len(left)} left.", err=True)
    for fact in left:
        click.echo(f"{fact.id} is left: {fact.why}; --all queues it too", err=True)


def _fact(letter: DeadLetter) -> _Fact:
    kind = being_id = why = None
    try:
        job = decode_job(letter.body)
    except UnknownJobError as error:
        why = str(error)
    else:
        kind, being_id = _shown(job.kind), _shown(job.being_id)
    group = _shown(letter.group)
    return _Fact(letter.id, kind, being_id, group, letter.died_at, letter.receives, why)


def _shown(text: str | None) -> str | None:
    return "?" if text is not None and not _ID.fullmatch(text) else text


def _row(fact: _Fact) -> tuple[str, ...]:
    named = (fact.id, fact.kind or "-", fact.being_id or "-")
    return (*named, moment(fact.died_at), str(fact.tried), fact.why or "-")
