"""What is left in a stack's tables."""

import time
from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from nacre.adapters.aws.calls import AwsCalls, Sleep, unavailable
from nacre.adapters.aws.dynamodb.attribute_values import decode_item
from nacre.ports.items.table import Item, Value
from nacre.ports.residue import Trace, owner_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoResidue:
    """Scans tables, every item of every Being: what it costs grows with the stack."""

    def __init__(
        self,
        client: "DynamoDBClient",
        tables: Sequence[str],
        *,
        sleep: Sleep = time.sleep,
        rng: Random | None = None,
    ) -> None:
        self._aws = AwsCalls(client, sleep=sleep, rng=rng)
        self._tables = tables

    def find(self, needles: Sequence[str]) -> Iterator[Trace]:
        """Give every item that holds one of these texts, expired ones too."""
        wanted = [needle for needle in needles if needle]
        for table in self._tables:
            for item in self._items(table):
                if any(needle in text for text in _texts(dict(item)) for needle in wanted):
                    pk, sk = str(item["pk"]), str(item["sk"])
                    yield Trace(f"{table} {pk} {sk}", owner_of(pk))

    def drop_jobs(self, being_id: str) -> None:
        """Leave the queue alone: SQS gives no message up; a job for no Being ends at once."""

    def settle(self) -> None:
        """Do nothing: the pages are AWS's. Point-in-time backups go back 35 days."""

    def _items(self, table: str) -> Iterator[Item]:
        start: dict[str, Any] = {}
        while True:
            try:
                answer = self._aws.call(
                    "scan", twice=True, TableName=table, ConsistentRead=True, **start
                )
            except ClientError as error:
                raise unavailable("scan", error) from error
            for item in answer["Items"]:
                yield decode_item(item)
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def _texts(value: Value) -> Iterator[str]:
    match value:
        case str():
            yield value
        case bytes():
            yield value.decode("utf-8", "replace")
        case list():
            for each in value:
                yield from _texts(each)
        case dict():
            for name, each in value.items():
                yield name
                yield from _texts(each)
        case _:  # numbers and nothing
            return
