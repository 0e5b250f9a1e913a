"""The worker: jobs by kind, each under the lease it needs."""

from collections.abc import Callable
from dataclasses import dataclass

from nacre.jobs.job import Job, UnknownJobError, decode_job
from nacre.jobs.lease import Lease, Leases
from nacre.ports.items.table import Key
from nacre.ports.queue import Message

KeepMessage = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Work:
    """One attempt at a job, as its handler sees it."""

    job: Job
    attempt: int  # 1 on the first delivery
    lease: Lease | None
    keep: Callable[[], None]
    """Call it between steps: keeps the lease and the message, raises LeaseLostError."""


Handler = Callable[[Work], None]


@dataclass(frozen=True, slots=True)
class _Kind:
    handler: Handler
    lease: str | None


class Worker:
    """Runs jobs. A handler may meet a job twice and has to get to the same end."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._kinds: dict[str, _Kind] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of jobs that are known, in order."""
        return tuple(sorted(self._kinds))

    def register(self, kind: str, handler: Handler, *, lease: str | None = None) -> None:
        """Know a kind of job; with a lease's name one such job runs per Being at a time."""
        if kind in self._kinds:
            raise ValueError(f"the kind of job {kind!r} is registered twice")
        self._kinds[kind] = _Kind(handler, lease)

    def run(self, message: Message, *, keep_message: KeepMessage = lambda: None) -> None:
        """Do the job in a message; what it raises says that the message is not done.

        Raises LeaseHeldError when someone else is at work, UnknownJobError for a message
        of no registered kind.
        """
        job, kind = self._known(message)
        place = _lease_of(job, kind)
        if place is None:
            kind.handler(Work(job, message.receives, None, keep_message))
            return
        lease = self._leases.take(place)

        def keep() -> None:
            self._leases.renew(lease)
            keep_message()

        try:
            kind.handler(Work(job, message.receives, lease, keep))
        finally:
            self._leases.give_back(lease)

    def wait(self, message: Message) -> bool:
        """Have whoever is at work for a message's Being wake the message when that has ended.

        Return False if it has ended already.
        """
        place = _lease_of(*self._known(message))
        return place is not None and self._leases.wait(place, message.receipt)

    def _known(self, message: Message) -> tuple[Job, _Kind]:
        job = decode_job(message.body)
        kind = self._kinds.get(job.kind)
        if kind is None:
            raise UnknownJobError(f"no handler for jobs of kind {job.kind[:50]!r}: upgrade nacre")
        return job, kind


def _lease_of(job: Job, kind: _Kind) -> Key | None:
    """Return the lease under which a job is done; None where it needs none."""
    if kind.lease is None:
        return None
    if job.being_id is None:
        raise UnknownJobError(f"a job of kind {job.kind!r} names no Being")
    return Key(f"B#{job.being_id}", f"LOCK#{kind.lease}")
