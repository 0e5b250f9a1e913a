"""Calls to one queue of SQS."""

import time
from random import Random
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from nacre.adapters.aws.calls import AwsCalls, Sleep, error_code, unavailable
from nacre.core.errors import ConfigurationError

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_GONE = frozenset({"ReceiptHandleIsInvalid", "InvalidParameterValue", "MessageNotInflight"})


class SqsCalls:
    """One queue's operations, with our errors."""

    def __init__(
        self,
        client: "SQSClient",
        url: str,
        *,
        sleep: Sleep = time.sleep,
        rng: Random | None = None,
    ) -> None:
        self._aws = AwsCalls(client, sleep=sleep, rng=rng)
        self._url = url

    def call(self, operation: str, **parameters: Any) -> Any:
        """Call an operation that may be done twice."""
        try:
            return self._aws.call(operation, twice=True, QueueUrl=self._url, **parameters)
        except ClientError as error:
            raise self._translation(operation, error) from error

    def with_receipt(self, operation: str, **parameters: Any) -> None:
        """Call an operation on a delivery; nothing happens when its receipt is no longer good."""
        try:
            self._aws.call(operation, twice=True, QueueUrl=self._url, **parameters)
        except ClientError as error:
            # SQS writes "AWS.SimpleQueueService.MessageNotInflight" for some of them.
            if error_code(error).rpartition(".")[2] not in _GONE:
                raise self._translation(operation, error) from error

    def counts(self) -> tuple[int, int]:
        """Return about how many messages wait, and how many are in flight."""
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        answer = self.call("get_queue_attributes", AttributeNames=list(names))
        return int(answer["Attributes"][names[0]]), int(answer["Attributes"][names[1]])

    def _translation(self, operation: str, error: ClientError) -> Exception:
        if error_code(error).rpartition(".")[2] in ("NonExistentQueue", "QueueDoesNotExist"):
            return ConfigurationError(
                f"the queue {self._url.rpartition('/')[2]} does not exist; is the stack deployed?"
            )
        return unavailable(operation, error)
