"""The queue on SQS FIFO."""

import time
import uuid
from random import Random
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from nacre.adapters.aws_calls import AwsCalls, Sleep, error_code, unavailable
from nacre.adapters.queue_rules import check_message
from nacre.errors import ConfigurationError
from nacre.ports.queue import Depth, Message

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_GONE = frozenset({"ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight"})
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
        self._aws = AwsCalls(client, sleep=sleep, rng=rng)
        self._url = url
        self._dead_letter_url = dead_letter_url

    def send(self, body: str, *, group: str, repeat: str | None = None) -> str:
        """Add a message and return its id."""
        check_message(body, group, repeat)
        answer = self._call(
            "send_message",
            MessageBody=body,
            MessageGroupId=group,
            MessageDeduplicationId=repeat or str(uuid.uuid4()),
        )
        return str(answer["MessageId"])

    def receive(self) -> Message | None:
        """Take the next message that may be worked on; None when there is none now."""
        answer = self._call(
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
        self._with_receipt("delete_message", ReceiptHandle=message.receipt)

    def postpone(self, message: Message, seconds: float) -> None:
        """Deliver the message again after so long, counted from now; 0 is at once."""
        self._with_receipt(
            "change_message_visibility",
            ReceiptHandle=message.receipt,
            VisibilityTimeout=min(_LONGEST_PAUSE, max(0, round(seconds))),
        )

    def depth(self) -> Depth:
        """Count the messages, approximately."""
        waiting, in_flight = self._counts(self._url)
        return Depth(waiting, in_flight, dead=sum(self._counts(self._dead_letter_url)))

    def _counts(self, url: str) -> tuple[int, int]:
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        answer = self._call("get_queue_attributes", QueueUrl=url, AttributeNames=list(names))
        return int(answer["Attributes"][names[0]]), int(answer["Attributes"][names[1]])

    def _with_receipt(self, operation: str, **parameters: Any) -> None:
        try:
            self._aws.call(operation, twice=True, QueueUrl=self._url, **parameters)
        except ClientError as error:
            # SQS writes "AWS.SimpleQueueService.MessageNotInflight" for some of them.
            if error_code(error).rpartition(".")[2] not in _GONE:
                raise self._translation(operation, error) from error

    def _call(self, operation: str, **parameters: Any) -> Any:
        try:
            return self._aws.call(operation, twice=True, **{"QueueUrl": self._url, **parameters})
        except ClientError as error:
            raise self._translation(operation, error) from error

    def _translation(self, operation: str, error: ClientError) -> Exception:
        if error_code(error).rpartition(".")[2] in ("NonExistentQueue", "QueueDoesNotExist"):
            return ConfigurationError(
                f"the queue {self._url.rpartition('/')[2]} does not exist; is the stack deployed?"
            )
        return unavailable(operation, error)
