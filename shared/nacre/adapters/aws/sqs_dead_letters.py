"""The dead letters on SQS FIFO: a queue of their own."""

import time
from collections.abc import Generator
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

from nacre.adapters.aws.calls import Sleep
from nacre.adapters.aws.sqs_calls import SqsCalls
from nacre.core.limits import MAX_RECEIVES
from nacre.ports.dead_letters import DeadLetter

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_BATCH = 10  # the most that SQS hands out at once
_HIDDEN_SECONDS = 60  # of what a look has found, where nobody closes it
_WAIT_SECONDS = 1  # an answer without waiting asks some of SQS's machines only


class SqsDeadLetters:
    """The DeadLetters of a queue in SQS.

    SQS hands out nothing more of a group while some of it is in flight.
    """

    def __init__(
        self,
        client: "SQSClient",
        url: str,
        *,
        dead_letter_url: str,
        sleep: Sleep = time.sleep,
        rng: Random | None = None,
    ) -> None:
        self._queue = SqsCalls(client, url, sleep=sleep, rng=rng)
        self._dead = SqsCalls(client, dead_letter_url, sleep=sleep, rng=rng)
        self._held: dict[str, str] = {}  # receipts of the look, by message

    def look(self) -> Generator[DeadLetter]:
        """Yield what lies there, hidden from others until the look is closed."""
        try:
            while batch := self._receive():
                new = [each for each in batch if each["MessageId"] not in self._held]
                self._held |= {each["MessageId"]: each["ReceiptHandle"] for each in batch}
                yield from map(_letter, new)
        finally:
            # The last first, so that nobody is handed a later one of a group before.
            for receipt in reversed(self._held.values()):
                self._dead.with_receipt(
                    "change_message_visibility", ReceiptHandle=receipt, VisibilityTimeout=0
                )
            self._held = {}

    def send_back(self, letter: DeadLetter) -> bool:
        """Put a letter behind what waits in its group."""
        # Sent before it is deleted: who is killed in between leaves it twice, never not at all.
        # One by one: of a batch the first may fail and the second succeed.
        self._queue.call(
            "send_message",
            MessageBody=letter.body,
            MessageGroupId=letter.group,
            MessageDeduplicationId=f"redrive-{letter.id}",
        )
        receipt = self._held.get(letter.id, letter.receipt)
        self._dead.with_receipt("delete_message", ReceiptHandle=receipt)
        self._held.pop(letter.id, None)
        return True

    def count(self) -> int:
        """Count what lies there, approximately."""
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


def _letter(found: Any) -> DeadLetter:
    attributes = found["Attributes"]
    return DeadLetter(
        id=found["MessageId"],
        group=attributes["MessageGroupId"],
        body=found["Body"],
        # SQS counts each look as one more delivery.
        receives=min(MAX_RECEIVES, int(attributes["ApproximateReceiveCount"])),
        # SQS FIFO sets it anew when it moves a message here.
        died_at=datetime.fromtimestamp(int(attributes["SentTimestamp"]) / 1000, UTC),
        receipt=found["ReceiptHandle"],
    )
