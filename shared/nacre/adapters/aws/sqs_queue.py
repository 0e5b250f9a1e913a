"""The queue on SQS FIFO."""

import time
import uuid
from random import Random
from typing import TYPE_CHECKING

from nacre.adapters.aws.calls import Sleep
from nacre.adapters.aws.sqs_calls import SqsCalls
from nacre.adapters.rules.queue_rules import check_message
from nacre.ports.queue import Depth, Message

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_LONGEST_PAUSE = 43_200  # SQS hides a message for at most twelve hours


class SqsQueue:
    """A Queue in SQS; its dead messages lie in a queue of their own.

    The queue's own settings say how long a delivery lasts and how many there are.
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
        self._sqs = SqsCalls(client, url, sleep=sleep, rng=rng)
        self._dead = SqsCalls(client, dead_letter_url, sleep=sleep, rng=rng)

    def send(self, body: str, *, group: str, repeat: str | None = None) -> str:
        """Add a message and return its id."""
        check_message(body, group, repeat)
        answer = self._sqs.call(
            "send_message",
            MessageBody=body,
            MessageGroupId=group,
            MessageDeduplicationId=repeat or str(uuid.uuid4()),
        )
        return str(answer["MessageId"])

    def receive(self) -> Message | None:
        """Take the next message that may be worked on; None when there is none now."""
        answer = self._sqs.call(
            "receive_message",
            MaxNumberOfMessages=1,
            MessageSystemAttributeNames=["MessageGroupId", "ApproximateReceiveCount"],
        )
        for found in answer.get("Messages", ()):
            attributes = found["Attributes"]
            return Message(
                id=found["MessageId"],
                group=attributes["MessageGroupId"],
                body=found["Body"],
                receives=int(attributes["ApproximateReceiveCount"]),
                receipt=found["ReceiptHandle"],
            )
        return None

    def done(self, message: Message) -> None:
        """Remove a message; nothing happens when its receipt is no longer good."""
        self._sqs.with_receipt("delete_message", ReceiptHandle=message.receipt)

    def postpone(self, message: Message, seconds: float) -> None:
        """Deliver the message again after so long, counted from now; 0 is at once."""
        self._sqs.with_receipt(
            "change_message_visibility",
            ReceiptHandle=message.receipt,
            VisibilityTimeout=min(_LONGEST_PAUSE, max(0, round(seconds))),
        )

    def give_back(self, message: Message, seconds: float) -> None:
        """Deliver the message again after so long; SQS counts the delivery all the same."""
        self.postpone(message, seconds)

    def wake(self, receipt: str) -> None:
        """Deliver a postponed message now, whoever took it; nothing if it came back already."""
        self._sqs.with_receipt(
            "change_message_visibility", ReceiptHandle=receipt, VisibilityTimeout=0
        )

    def depth(self) -> Depth:
        """Count the messages, approximately."""
        waiting, in_flight = self._sqs.counts()
        return Depth(waiting, in_flight, dead=sum(self._dead.counts()))
