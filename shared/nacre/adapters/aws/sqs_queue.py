"""The queue and its dead letters on SQS FIFO."""

import time
import uuid
from collections.abc import Generator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from nacre.adapters.aws.calls import AwsCalls, Sleep
from nacre.adapters.input_checks import check_message
from nacre.core.errors import ConfigurationError
from nacre.core.limits import MAX_RECEIVES
from nacre.ports.operation.dead_letters import DeadLetter
from nacre.ports.queue import Depth, Message

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_GONE = ("ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight")
_MAX_PAUSE = 43_200  # SQS hides a message for at most twelve hours
_BATCH = 10  # the most that SQS hands out at once
_HIDDEN_SECONDS = 60  # how long listed letters stay hidden if the listing is not closed
_WAIT_SECONDS = 1  # without waiting, SQS asks only some of its machines


class _SqsCalls:
    """The operations of one queue, with our errors."""

    def __init__(self, client: "SQSClient", url: str, *, sleep: Sleep) -> None:
        self._aws = AwsCalls(client, sleep=sleep)
        self._url = url

    def call(self, operation: str, **parameters: Any) -> Any:
        """Call an operation that may be repeated."""
        return self._aws.ask(operation, self._missing, QueueUrl=self._url, **parameters)

    def with_receipt(self, operation: str, **parameters: Any) -> None:
        """Call an operation on a delivery; nothing happens when its receipt is no longer valid."""
        errors = {**self._missing, **dict.fromkeys(_GONE)}
        self._aws.ask(operation, errors, QueueUrl=self._url, **parameters)

    def send(self, body: str, group: str, dedupe_key: str) -> str:
        """Add a message and return its id; only one with the same `dedupe_key` is added."""
        answer = self.call(
            "send_message",
            MessageBody=body,
            MessageGroupId=group,
            MessageDeduplicationId=dedupe_key,
        )
        return str(answer["MessageId"])

    def show(self, receipt: str, seconds: int = 0) -> None:
        """Deliver a hidden message again after so many seconds."""
        self.with_receipt(
            "change_message_visibility", ReceiptHandle=receipt, VisibilityTimeout=seconds
        )

    def counts(self) -> tuple[int, int]:
        """Return about how many messages wait, and how many are in flight."""
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        answer = self.call("get_queue_attributes", AttributeNames=list(names))
        return int(answer["Attributes"][names[0]]), int(answer["Attributes"][names[1]])

    @property
    def _missing(self) -> dict[str, Exception | None]:
        name = self._url.rpartition("/")[2]
        missing = ConfigurationError(f"the queue {name} does not exist; is the stack deployed?")
        return {"NonExistentQueue": missing, "QueueDoesNotExist": missing}


class _TwoQueues:
    """A queue, and the one that gets the messages that were given up."""

    def __init__(
        self, client: "SQSClient", url: str, *, dead_letter_url: str, sleep: Sleep = time.sleep
    ) -> None:
        self._queue = _SqsCalls(client, url, sleep=sleep)
        self._dead = _SqsCalls(client, dead_letter_url, sleep=sleep)


class SqsQueue(_TwoQueues):
    """A Queue in SQS; messages that were given up are in a second queue.

    The settings of the queue say how long a delivery lasts and how many there are.
    """

    def send(self, body: str, *, group: str, dedupe_key: str | None = None) -> str:
        """Add a message and return its id."""
        check_message(body, group, dedupe_key)
        return self._queue.send(body, group, dedupe_key or str(uuid.uuid4()))

    def receive(self) -> Message | None:
        """Take the next message that may be worked on; return None if there is none now."""
        answer = self._queue.call(
            "receive_message",
            MaxNumberOfMessages=1,
            MessageSystemAttributeNames=["MessageGroupId", "ApproximateReceiveCount"],
        )
        for entry in answer.get("Messages", ()):
            attributes = entry["Attributes"]
            return Message(
                id=entry["MessageId"],
                group=attributes["MessageGroupId"],
                body=entry["Body"],
                receives=int(attributes["ApproximateReceiveCount"]),
                receipt=entry["ReceiptHandle"],
            )
        return None

    def done(self, message: Message) -> None:
        """Remove a message; nothing happens when its receipt is no longer valid."""
        self._queue.with_receipt("delete_message", ReceiptHandle=message.receipt)

    def postpone(self, message: Message, seconds: float) -> None:
        """Deliver the message again after `seconds` from now; 0 is at once."""
        self._queue.show(message.receipt, min(_MAX_PAUSE, max(0, round(seconds))))

    def give_back(self, message: Message, seconds: float) -> None:
        """Deliver the message again after a pause; SQS still counts the delivery."""
        self.postpone(message, seconds)

    def wake(self, receipt: str) -> None:
        """Deliver a postponed message now, also one of another worker; do nothing if it is back."""
        self._queue.show(receipt)

    def depth(self) -> Depth:
        """Count the messages, approximately."""
        waiting, in_flight = self._queue.counts()
        return Depth(waiting, in_flight, dead=sum(self._dead.counts()))

    def waiting(self) -> int:
        """Count the messages that wait to be taken, approximately."""
        return self._queue.counts()[0]


class SqsDeadLetters(_TwoQueues):
    """The DeadLetters of a queue in SQS.

    SQS delivers nothing more of a group while one of its messages is in flight.
    """

    def __init__(self, client: "SQSClient", url: str, **options: Any) -> None:
        super().__init__(client, url, **options)
        self._held: dict[str, str] = {}  # receipts of the look, by message

    def look(self) -> Generator[DeadLetter]:
        """Yield the letters, hidden from others until the look is closed."""
        try:
            while batch := self._receive():
                new = [entry for entry in batch if entry["MessageId"] not in self._held]
                self._held |= {entry["MessageId"]: entry["ReceiptHandle"] for entry in batch}
                yield from map(_letter, new)
        finally:
            # The last first, so that nobody gets a later letter of a group before an earlier one.
            for receipt in reversed(self._held.values()):
                self._dead.show(receipt)
            self._held = {}

    def send_back(self, letter: DeadLetter) -> bool:
        """Put a letter at the end of its group in the queue."""
        # Sent before it is deleted: a process that is killed in between leaves it twice.
        # One by one: in a batch the first may fail and the second succeed.
        self._queue.send(letter.body, letter.group, f"redrive-{letter.id}")
        receipt = self._held.get(letter.id, letter.receipt)
        self._dead.with_receipt("delete_message", ReceiptHandle=receipt)
        self._held.pop(letter.id, None)
        return True

    def count(self) -> int:
        """Count the letters, approximately."""
        return sum(self._dead.counts())

    def _receive(self) -> list[Any]:
        answer = self._dead.call(
            "receive_message",
            MaxNumberOfMessages=_BATCH,
            VisibilityTimeout=_HIDDEN_SECONDS,
            WaitTimeSeconds=_WAIT_SECONDS,
            MessageSystemAttributeNames=[
                "MessageGroupId",
                "ApproximateReceiveCount",
                "SentTimestamp",
            ],
        )
        return list(answer.get("Messages", ()))


def _letter(entry: Any) -> DeadLetter:
    attributes = entry["Attributes"]
    return DeadLetter(
        id=entry["MessageId"],
        group=attributes["MessageGroupId"],
        body=entry["Body"],
        # SQS counts each look as one more delivery.
        receives=min(MAX_RECEIVES, int(attributes["ApproximateReceiveCount"])),
        # SQS FIFO sets it again when it moves a message here.
        died_at=datetime.fromtimestamp(int(attributes["SentTimestamp"]) / 1000, UTC),
        receipt=entry["ReceiptHandle"],
    )
