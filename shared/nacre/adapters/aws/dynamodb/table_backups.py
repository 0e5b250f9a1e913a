"""Make backups in DynamoDB, and fill tables from them."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from nacre.adapters.aws.calls import REFUSALS, AwsCalls, Sleep
from nacre.core.errors import ForbiddenError, NotFoundError, UnavailableError

_AT_ONCE = 25  # as many items as one BatchWriteItem takes
_LOOK_AGAIN_SECONDS = 5.0
_PATIENCE_SECONDS = 24 * 3600.0  # AWS promises no duration; large tables take hours
_TABLE_THERE = ("TableAlreadyExistsException", "TableInUseException")


class DynamoBackups:
    """Makes backups of tables, and copies their items into other tables."""

    def __init__(
        self,
        client: Any,
        *,
        sleep: Sleep = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._aws = AwsCalls(client, sleep=sleep)
        self._sleep = sleep
        self._monotonic = monotonic

    def make(self, table: str, name: str) -> str:
        """Back up a table as it is now; return the ARN when the backup is complete."""
        answer = self._call("create_backup", repeatable=False, TableName=table, BackupName=name)
        arn = str(answer["BackupDetails"]["BackupArn"])
        self._wait(f"the backup of {table}", lambda: self._backup_status(arn) == "AVAILABLE")
        return arn

    def unpack(self, arn: str, table: str) -> None:
        """Restore a backup into a new table unless it exists; wait until the table is active."""
        if self._table_status(table) is None:
            self._backup_status(arn)
            with suppress(_TableExistsError):  # another attempt started the restore
                self._call(
                    "restore_table_from_backup",
                    repeatable=False,
                    TargetTableName=table,
                    BackupArn=arn,
                )
        self._wait(f"the table {table}", lambda: self._table_status(table) == "ACTIVE")

    def copy(self, source: str, target: str, report: Callable[[int], None], *, now: float) -> int:
        """Copy the items that have not expired to another table; return their number."""
        count = 0
        for items in self._pages(source):
            page = [item for item in items if not _has_expired(item, now)]
            for first in range(0, len(page), _AT_ONCE):
                self._write(target, page[first : first + _AT_ONCE])
            count += len(page)
            report(count)
        return count

    def count(self, table: str) -> int:
        """Return how many items a table has, by reading all of it."""
        return sum(map(len, self._pages(table, ProjectionExpression="pk")))

    def is_empty(self, table: str) -> bool:
        """Tell whether a table has no item."""
        return not next(self._pages(table, Limit=1), [])

    def drop(self, table: str) -> None:
        """Delete a table that `unpack` made."""
        self._call("delete_table", repeatable=False, TableName=table)

    def _pages(self, table: str, **parameters: Any) -> Iterator[list[dict[str, Any]]]:
        start: dict[str, Any] = {}
        while True:
            answer = self._call(
                "scan", repeatable=True, TableName=table, ConsistentRead=True, **parameters, **start
            )
            yield answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    def _write(self, table: str, items: list[dict[str, Any]]) -> None:
        unwritten = {table: [{"PutRequest": {"Item": item}} for item in items]}
        attempts = 0
        while unwritten:
            if attempts:
                self._aws.pause(min(attempts, 6))
            attempts += 1
            answer = self._call("batch_write_item", repeatable=True, RequestItems=unwritten)
            unwritten = answer.get("UnprocessedItems") or {}

    def _backup_status(self, arn: str) -> str:
        answer = self._call("describe_backup", repeatable=True, BackupArn=arn)
        return str(answer["BackupDescription"]["BackupDetails"]["BackupStatus"])

    def _table_status(self, table: str) -> str | None:
        try:
            answer = self._call("describe_table", repeatable=True, TableName=table)
        except NotFoundError:
            return None
        return str(answer["Table"]["TableStatus"])

    def _wait(self, name: str, is_done: Callable[[], bool]) -> None:
        deadline = self._monotonic() + _PATIENCE_SECONDS
        while not is_done():
            if self._monotonic() > deadline:
                raise UnavailableError(f"AWS has not finished {name}; run the command again later")
            self._sleep(_LOOK_AGAIN_SECONDS)

    def _call(self, operation: str, *, repeatable: bool, **parameters: Any) -> Any:
        no_table = NotFoundError(f"AWS has no table {parameters.get('TableName')}")
        no_backup = f"AWS has no backup {parameters.get('BackupArn')} for these credentials"
        forbidden = ForbiddenError(f"these AWS credentials may not {operation}")
        errors = {
            **dict.fromkeys(("ResourceNotFoundException", "TableNotFoundException"), no_table),
            "BackupNotFoundException": NotFoundError(no_backup),
            **dict.fromkeys(_TABLE_THERE, _TableExistsError(operation)),
            **dict.fromkeys(REFUSALS, forbidden),
        }
        return self._aws.ask(operation, errors, repeatable=repeatable, **parameters)


def _has_expired(item: dict[str, Any], now: float) -> bool:
    return float(item.get("expires_at", {}).get("N", "inf")) <= now


class _TableExistsError(UnavailableError):
    """A table of this name exists or is being created."""
