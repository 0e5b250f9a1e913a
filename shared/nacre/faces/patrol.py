"""The worker's Lambda face: batches of SQS messages, answered one by one."""

from collections.abc import Callable, Mapping
from typing import Any

from nacre import __version__
from nacre.faces.logs import Log, where
from nacre.jobs.worker import Worker
from nacre.ports.queue import Message

Event = Mapping[str, Any]
Handler = Callable[[Event, object], dict[str, Any]]


def worker_handler(worker: Callable[[], Worker], log: Log) -> Handler:
    """Return the handler of the worker function; `worker` is called at the first message.

    It answers which messages failed, so that SQS deletes the others. After the first
    failure in a group the group's later messages count as failed too, or they would
    overtake it. An event without messages is answered with a sign of life.
    """

    def handle(event: Event, _context: object) -> dict[str, Any]:
        if "Records" not in event:
            return {"status": "ok", "function": "patrol_worker", "version": __version__}
        failed: list[str] = []
        blocked: set[str] = set()
        for record in event["Records"]:
            message = message_of(record)
            if message.group not in blocked and _succeeds(worker(), message, log):
                continue
            blocked.add(message.group)
            failed.append(message.id)
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}

    return handle


def message_of(record: Mapping[str, Any]) -> Message:
    """Return the message in a record of an SQS event."""
    attributes = record.get("attributes", {})
    return Message(
        id=record["messageId"],
        group=attributes.get("MessageGroupId", ""),
        body=record.get("body", ""),
        receives=int(attributes.get("ApproximateReceiveCount", 1)),
        receipt=record.get("receiptHandle", ""),
    )


def _succeeds(worker: Worker, message: Message, log: Log) -> bool:
    known: dict[str, Any] = {
        "message": message.id,
        "group": message.group,
        "attempt": message.receives,
    }
    try:
        worker.run(message)
    except Exception as error:  # noqa: BLE001  # one message must not fail the others
        log.write("error", "job_failed", **known, error=where(error))
        return False
    log.write("info", "job_done", **known)
    return True
