"""The command `nacre dlq`: failed background jobs, and how to queue them again."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from itertools import islice

import click

from nacre.cli.being_options import Place, being_options
from nacre.cli.display import iso_time, json_option, show_json, show_table
from nacre.cli.exit_codes import FAILURE
from nacre.core.errors import InvalidInputError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass
from nacre.jobs.job import UnknownJobError, decode_job
from nacre.ports.operation.dead_letters import DeadLetter, DeadLetters

_SHOWN = 50
# A damaged message may have any text instead of an id, and contents must not be shown.
_ID = re.compile(r"[A-Za-z0-9._:#@/+=-]{1,128}")


@dataclass(frozen=True, slots=True)
class _FailedJob:
    """The facts about a dead letter that may be shown: ids, no contents."""

    id: str
    kind: str | None
    being_id: str | None
    group: str | None
    died_at: datetime
    tried: int
    why: str | None  # the reason why it can never run; other errors are in the log

    def to_plain(self) -> dict[str, object]:
        """Return the facts for JSON."""
        return {
            "id": self.id,
            "kind": self.kind,
            "being_id": self.being_id,
            "group": self.group,
            "died_at": iso_time(self.died_at),
            "tried": self.tried,
            "why": self.why,
        }


_Letters = Iterator[tuple[DeadLetter, _FailedJob]]


@click.group()
def dlq() -> None:
    """List failed background jobs, and queue them again."""


@dlq.command()
@click.option("--limit", type=click.IntRange(1, 500), default=_SHOWN, show_default=True,
              help="Number of jobs.")  # fmt: skip
@json_option
@being_options
def show(*, limit: int, as_json: bool, place: Place) -> None:
    """List the jobs that failed three times: ids only, no contents.

    With --being, list only the jobs of that Being. The worker's log has the error of each job
    under the same id. A stack returns ten jobs of one group; the others appear when those are back
    in the queue.
    """
    with _failed_jobs(place) as (dead_letters, letters):
        jobs = [job for _, job in islice(letters, limit)]
        more = 0 if place.being else dead_letters.count() - len(jobs)
    if as_json:
        show_json([job.to_plain() for job in jobs])
    elif jobs:
        head = ("ID", "KIND", "BEING", "GIVEN UP", "TRIED", "WHY")
        show_table(head, map(_row, jobs))
    elif more <= 0:
        click.echo("There are no failed jobs.", err=True)
    if more > 0:
        click.echo(f"{more} more not shown.", err=True)


@dlq.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Also queue messages that are not valid jobs.")
@click.option("--dry-run", is_flag=True, help="Only show what would be queued.")
@json_option
@being_options
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
    """Queue jobs again: those with the IDs, or all valid jobs.

    First fix the reason why they failed. A job goes to the end of its group and gets three new
    attempts. A message that is not a valid job stays and is listed, except with --all. If the
    command is interrupted, run it again; nothing is lost.
    """
    if ids and every:
        raise InvalidInputError("--all queues everything; give either IDs or --all")
    missing = set(ids)
    queued: list[_FailedJob] = []
    skipped: list[_FailedJob] = []
    with _failed_jobs(place) as (dead_letters, letters):
        for letter, job in _selected(missing, letters) if ids else letters:
            if job.why is not None and not every:
                skipped.append(job)
            elif dry_run or dead_letters.send_back(letter):
                queued.append(job)
    if as_json:
        facts = {
            "queued": [job.to_plain() for job in queued],
            "left": [job.to_plain() for job in skipped],
        }
        show_json({"dry_run": dry_run, **facts})
    else:
        _show(queued, skipped, "would be queued again" if dry_run else "queued again")
    if missing:
        names = ", ".join(sorted(name[:40] for name in missing))
        raise NotFoundError(f"there is no failed job {names}; 'nacre dlq show' lists them")
    if skipped:
        context.exit(FAILURE)


@contextmanager
def _failed_jobs(place: Place) -> Iterator[tuple[DeadLetters, _Letters]]:
    """Open the dead letter queue, limited to a Being if one is named."""
    home = place.open()
    being_id = place.choose(home).being_id if place.being else None
    dead_letters = home.ports.dead_letters
    with closing(dead_letters.look()) as letters:
        pairs = ((letter, _job(letter)) for letter in letters)
        yield dead_letters, (pair for pair in pairs if being_id in (None, pair[1].being_id))


def _selected(missing: set[str], letters: _Letters) -> _Letters:
    """Yield the letters with the missing ids, and remove these ids from the set."""
    for letter, job in letters:
        if letter.id in missing:
            missing.discard(letter.id)
            yield letter, job
            if not missing:
                return


def _show(queued: list[_FailedJob], skipped: list[_FailedJob], action: str) -> None:
    for job in queued:
        click.echo(f"{job.id}  {job.kind or '-'}  {job.being_id or '-'}")
    click.echo(f"{len(queued)} {action}, {len(skipped)} left.", err=True)
    for job in skipped:
        click.echo(f"{job.id} is left: {job.why}; --all queues it too", err=True)


def _job(letter: DeadLetter) -> _FailedJob:
    kind = being_id = why = None
    try:
        job = decode_job(letter.body)
    except UnknownJobError as error:
        why = str(error)
    else:
        kind, being_id = _shown(job.kind), _shown(job.being_id)
    group = _shown(letter.group)
    return _FailedJob(letter.id, kind, being_id, group, letter.died_at, letter.receives, why)


def _shown(text: str | None) -> str | None:
    return "?" if text is not None and not _ID.fullmatch(text) else text


def _row(job: _FailedJob) -> tuple[str, ...]:
    ids = (job.id, job.kind or "-", job.being_id or "-")
    return (*ids, iso_time(job.died_at), str(job.tried), job.why or "-")
