"""The worker's Lambda face: batches of SQS messages, answered one by one."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from aws_lambda_powertools.utilities.batch import SqsFifoPartialProcessor
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from nacre import __version__
from nacre.core.errors import LeaseHeldError, NacreError, NewerSchemaError
from nacre.core.limits import (
    JOB_RETRY_SECONDS,
    LEASE_LONGEST_LOOK_SECONDS,
    LEASE_WAIT_SECONDS,
    NEWER_JOB_RETRY_SECONDS,
    PATROL_SLICE_SECONDS,
)
from nacre.core.logs import Log, where
from nacre.jobs.job import NewerJobError
from nacre.jobs.worker import Worker
from nacre.ports.queue import Message

Event = Mapping[str, Any]
Handler = Callable[[Event, object], dict[str, Any]]
Postpone = Callable[[Message, float], None]


_NEEDED_SECONDS = PATROL_SLICE_SECONDS + 60  # of a slice, and of the step that ends it
_AFTER_SECONDS = 30  # a function that runs out of time is surely gone by then


class _NotDoneError(NacreError):
    """A message is not done; the reason is in the log only, because Powertools may print this."""


def worker_handler(
    worker: Callable[[], Worker],
    postpone: Postpone,
    log: Log,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> Handler:
    """Return the handler of the worker function; `worker` is called at the first message.

    It answers which messages failed, so that SQS deletes the others. After the first
    failure in a group the group's later messages count as failed too, or they would
    overtake it. `postpone` lets a failed one come back before its long delivery is over, and
    one whose function was stopped soon after its time.
    An event without messages is answered with a sign of life.
    """

    def handle(event: Event, context: object) -> dict[str, Any]:
        if "Records" not in event:
            return {"status": "ok", "function": "patrol_worker", "version": __version__}
        batch = SqsFifoPartialProcessor(skip_group_on_error=True)
        # With batches of one message every failure is one of the whole batch.
        batch.raise_on_entire_batch_failure = False
        with batch(records=list(event["Records"]), handler=taking(context)):
            batch.process()
        return dict(batch.response())

    def taking(context: object) -> Callable[[SQSRecord], None]:
        def take(record: SQSRecord) -> None:
            message = message_of(record)
            seconds_left = _seconds_left(context)
            if seconds_left is not None:
                with suppress(NacreError):
                    postpone(message, seconds_left + _AFTER_SECONDS)
            # Whoever waited must still have time for a slice of the work.
            spare = LEASE_WAIT_SECONDS if seconds_left is None else seconds_left - _NEEDED_SECONDS
            deal_with(message, patience=min(LEASE_WAIT_SECONDS, spare))

        return take

    def deal_with(message: Message, *, patience: float) -> None:
        facts: dict[str, Any] = {
            "message": message.id,
            "group": message.group,
            "attempt": message.receives,
        }
        try:
            _run_when_free(worker(), message, patience, sleep)
        except LeaseHeldError as error:
            log.write("info", "job_busy", **facts)
            _wait_for_holder(worker(), message, postpone, max(1.0, error.seconds))
            raise _NotDoneError("the message is not done") from None
        except Exception as error:  # noqa: BLE001  # one message must not fail the others
            failed = {"JobFailures": 1}
            log.count("error", "job_failed", failed, **facts, error=where(error))
            again = _pause_after(error)
        else:
            log.write("info", "job_done", **facts)
            return
        with suppress(NacreError):  # then it comes back when its delivery is over
            postpone(message, again)
        raise _NotDoneError("the message is not done")

    return handle


def _pause_after(error: Exception) -> float:
    """Return the pause before a failed job is tried again.

    While a deployment moves the queue to a newer version, this one gets messages and items that
    only the newer one reads. They wait for it instead of being given up.
    """
    is_newer = isinstance(error, NewerJobError | NewerSchemaError)
    return NEWER_JOB_RETRY_SECONDS if is_newer else JOB_RETRY_SECONDS


def _wait_for_holder(worker: Worker, message: Message, postpone: Postpone, seconds: float) -> None:
    """Deliver the message again when the holder of the lease releases it, or the lease expires.

    The message is hidden before the holder is told of it, because the holder could wake it first.
    """
    with suppress(NacreError):  # then it comes back when its delivery is over
        postpone(message, seconds)
        if not worker.wait(message):
            postpone(message, 0)


def _run_when_free(
    worker: Worker, message: Message, patience: float, sleep: Callable[[float], None]
) -> None:
    """Do the job; while its Being is busy, try again soon, and then less and less often.

    SQS counts deliveries and gives a message up after three, so the wait is within one.
    """
    pause = 1.0
    while True:
        try:
            worker.run(message)
        except LeaseHeldError:
            patience -= pause
            if patience < 0:
                raise
            sleep(pause)
            pause = min(LEASE_LONGEST_LOOK_SECONDS, pause * 1.5)
        else:
            return


def _seconds_left(context: object) -> float | None:
    """Return the seconds that the function may still run, or None without a limit."""
    milliseconds = getattr(context, "get_remaining_time_in_millis", None)
    return None if milliseconds is None else milliseconds() / 1000


def message_of(record: SQSRecord) -> Message:
    """Return the message in a record of an SQS event."""
    attributes = record.raw_event.get("attributes", {})
    return Message(
        id=record.message_id,
        group=attributes.get("MessageGroupId", ""),
        body=record.raw_event.get("body", ""),
        receives=int(attributes.get("ApproximateReceiveCount", 1)),
        receipt=record.raw_event.get("receiptHandle", ""),
    )
