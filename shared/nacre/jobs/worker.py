"""The worker: runs each job with the handler of its kind, under the lease that it needs."""

from collections.abc import Callable

from nacre.core.lazy_dataclasses import dataclass
from nacre.jobs.job import Job, NewerJobError, UnknownJobError, decode_job
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
    """Call it between steps to renew the lease and the message; raises LeaseLostError."""


Handler = Callable[[Work], None]


@dataclass(frozen=True, slots=True)
class _Kind:
    handler: Handler
    lease: str | None


class Worker:
    """Runs jobs. A job may be delivered more than once, so handlers must be idempotent."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._kinds: dict[str, _Kind] = {}

    @property
    def kinds(self) -> tuple[str, ...]:
        """The registered kinds of jobs, sorted."""
        return tuple(sorted(self._kinds))

    def register(self, kind: str, handler: Handler, *, lease: str | None = None) -> None:
        """Register a kind of job; with a lease's name, one such job runs per Being at a time."""
        if kind in self._kinds:
            raise ValueError(f"the kind of job {kind!r} is registered twice")
        self._kinds[kind] = _Kind(handler, lease)

    def run(self, message: Message, *, keep_message: KeepMessage = lambda: None) -> None:
        """Run the job in a message; if it raises, the message is not done.

        Raises LeaseHeldError if another worker holds the lease, and UnknownJobError if the kind
        of the job is not registered.
        """
        job, kind = self._job_of(message)
        place = _lease_of(job, kind)
        if place is None:
            kind.handler(Work(job, message.receives, None, keep_message))
            return
        lease = self._leases.take(place)
        renew = self._leases.renewals(lease)

        def keep() -> None:
            renew()
            keep_message()

        try:
            kind.handler(Work(job, message.receives, lease, keep))
        finally:
            self._leases.give_back(lease)

    def wait(self, message: Message) -> bool:
        """Ask the holder of a message's lease to wake the message when the lease is released.

        Return False if it has ended already.
        """
        place = _lease_of(*self._job_of(message))
        return place is not None and self._leases.wait(place, message.receipt)

    def _job_of(self, message: Message) -> tuple[Job, _Kind]:
        job = decode_job(message.body)
        kind = self._kinds.get(job.kind)
        if kind is None:
            raise NewerJobError(f"no handler for jobs of kind {job.kind[:50]!r}: upgrade nacre")
        return job, kind


def _lease_of(job: Job, kind: _Kind) -> Key | None:
    """Return the lease that a job needs while it runs, or None."""
    if kind.lease is None:
        return None
    if job.being_id is None:
        raise UnknownJobError(f"a job of kind {job.kind!r} names no Being")
    return Key(f"B#{job.being_id}", f"LOCK#{kind.lease}")
