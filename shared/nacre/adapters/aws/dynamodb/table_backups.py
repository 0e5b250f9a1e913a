"""Backups that DynamoDB keeps, and tables filled from them."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from typing import Any

from botocore.exceptions import ClientError

from nacre.adapters.aws.calls import AwsCalls, Sleep, error_code, unavailable
from nacre.core.errors import ForbiddenError, NotFoundError, UnavailableError

_AT_ONCE = 25  # what one BatchWriteItem takes
_LOOK_AGAIN_SECONDS = 5.0
_PATIENCE_SECONDS = 24 * 3600.0  # AWS promises none; large tables take hours
_REFUSALS = ("AccessDeniedException", "UnrecognizedClientException", "ExpiredTokenException")


class DynamoBackups:
    """Makes backups of tables, and copies what they hold into other tables."""

    def __init__(
        self,
        client: Any,
        *,
        sleep: Sleep = time.sleep,
        rng: Random | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._aws = AwsCalls(client, sleep=sleep, rng=rng)
        self._sleep = sleep
        self._monotonic = monotonic

    def make(self, table: str, name: str) -> str:
        """Return the ARN of a new backup of a table, as it is at this moment, once it is kept."""
        made = self._call("create_backup", twice=False, TableName=table, BackupName=name)
        arn = str(made["BackupDetails"]["BackupArn"])
        self._wait(f"the backup of {table}", lambda: self._backup_status(arn) == "AVAILABLE")
        return arn

    def unpack(self, arn: str, table: str) -> None:
        """Have a table of this name made of a backup, unless it is there; wait until it is."""
        if self._table_status(table) is None:
            self._backup_status(arn)
            with suppress(_TableThereError):  # another attempt began it
                self._call(
                    "restore_table_from_backup",
                    twice=False,
                    TargetTableName=table,
                    BackupArn=arn,
                )
        self._wait(f"the table {table}", lambda: self._table_status(table) == "ACTIVE")

    def copy(self, source: str, target: str, told: Callable[[int], None], *, now: float) -> int:
        """Write what has not expired of a table into another one; return how many there are."""
        done = 0
        for found in self._pages(source):
            page = [item for item in found if not _is_over(item, now)]
            for first in range(0, len(page), _AT_ONCE):
                self._write(target, page[first : first + _AT_ONCE])
            done += len(page)
            told(done)
        return done

    def count(self, table: str) -> int:
        """Return how many items a table has, by reading all of it."""
        return sum(map(len, self._pages(table, ProjectionExpression="pk")))

    def is_empty(self, table: str) -> bool:
        """Tell whether a table has no item."""
        return not next(self._pages(table, Limit=1), [])

    def drop(self, table: str) -> None:
        """Delete a table that `unpack` made."""
        self._call("delete_table", twice=False, TableName=table)

    def _pages(self, table: str, **parameters: Any) -> Iterator[list[dict[str, Any]]]:
        start: dict[str, Any] = {}
        while True:
            answer = self._call(
                "scan", twice=True, TableName=table, ConsistentRead=True, **parameters, **start
            )
            yield answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _write(self, table: str, items: list[dict[str, Any]]) -> None:
        waiting = {table: [{"PutRequest": {"Item": item}} for item in items]}
        done = 0
        while waiting:
            if done:
                self._aws.pause(min(done, 6))
            done += 1
            answer = self._call("batch_write_item", twice=True, RequestItems=waiting)
            waiting = answer.get("UnprocessedItems") or {}

    def _backup_status(self, arn: str) -> str:
        answer = self._call("describe_backup", twice=True, BackupArn=arn)
        return str(answer["BackupDescription"]["BackupDetails"]["BackupStatus"])

    def _table_status(self, table: str) -> str | None:
        try:
            answer = self._call("describe_table", twice=True, TableName=table)
        except NotFoundError:
            return None
        return str(answer["Table"]["TableStatus"])

    def _wait(self, what: str, is_there: Callable[[], bool]) -> None:
        deadline = self._monotonic() + _PATIENCE_SECONDS
        while not is_there():
            if self._monotonic() > deadline:
                raise UnavailableError(f"AWS has not finished {what}; give the command again later")
            self._sleep(_LOOK_AGAIN_SECONDS)

    def _call(self, operation: str, *, twice: bool, **parameters: Any) -> Any:
        try:
            return self._aws.call(operation, twice=twice, **parameters)
        except ClientError as error:
            code = error_code(error)
            if code in ("ResourceNotFoundException", "TableNotFoundException"):
                raise NotFoundError(f"AWS has no table {parameters.get('TableName')}") from error
            if code == "BackupNotFoundException":
                raise NotFoundError(
                    f"AWS has no backup {parameters['BackupArn']} for these credentials"
                ) from error
            if code in ("TableAlreadyExistsException", "TableInUseException"):
                raise _TableThereError(operation) from error
            if code in _REFUSALS:
                raise ForbiddenError(f"these AWS credentials may not {operation}") from error
            raise unavailable(operation, error) from error


def _is_over(item: dict[str, Any], now: float) -> bool:
    return float(item.get("expires_at", {}).get("N", "inf")) <= now


class _TableThereError(UnavailableError):
    """A table of this name is there, or being made."""
