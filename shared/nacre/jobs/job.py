"""A job, and its form in a message of the queue."""

import json
from collections.abc import Mapping

from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field

VERSION = 1
SWEEP = "sweep"  # the kind of the hourly job that looks for work that nobody has queued


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work: its kind, its Being, and the ids that it needs.

    Messages carry ids only; texts and secrets stay in the item store.
    """

    kind: str
    being_id: str | None = None  # None: not about one Being, such as the sweep over all
    refs: Mapping[str, str] = field(default_factory=dict)


class UnknownJobError(InvalidInputError):
    """A message that this version cannot read; after some deliveries it is set aside as dead."""


class NewerJobError(UnknownJobError):
    """A message of a newer version, as while a deployment moves the queue to it."""


def encode_job(job: Job) -> str:
    """Return the body of a job's message."""
    body = {"version": VERSION, "kind": job.kind, "being_id": job.being_id, "refs": dict(job.refs)}
    return json.dumps({name: value for name, value in body.items() if value not in (None, {})})


def decode_job(body: str) -> Job:
    """Return the job in a message's body; raise UnknownJobError for anything else."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnknownJobError("a message of the queue is not JSON") from error
    version = fields.get("version", VERSION) if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(version, int):
        raise UnknownJobError("a message of the queue is not a job")
    if version != VERSION:
        raise NewerJobError(
            f"a job has version {version!r}, and this version of nacre knows {VERSION}: upgrade it"
        )
    kind, being_id, refs = fields.get("kind"), fields.get("being_id"), fields.get("refs", {})
    if not (
        isinstance(kind, str)
        and isinstance(being_id, str | None)
        and isinstance(refs, dict)
        and all(isinstance(value, str) for value in refs.values())
    ):
        raise UnknownJobError("a message of the queue is not a job")
    return Job(kind, being_id, refs)
