"""Finds traces of erased texts in a stack's tables."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from nacre.adapters.aws.calls import AwsCalls
from nacre.adapters.aws.dynamodb.attribute_values import decode_item
from nacre.ports.items.table import Item, Key, Value
from nacre.ports.operation.residue import Trace, owner_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoResidue:
    """Scans every item of every Being, so that its cost grows with the stack."""

    def __init__(self, client: "DynamoDBClient", tables: Sequence[str]) -> None:
        self._aws = AwsCalls(client)
        self._tables = tables

    def find(self, needles: Sequence[str]) -> Iterator[Trace]:
        """Yield every item that holds one of these texts, expired ones too."""
        texts = [needle for needle in needles if needle]
        for table in self._tables:
            for item in self._items(table):
                if any(needle in text for text in _texts(dict(item)) for needle in texts):
                    key = Key.of(item)
                    yield Trace(f"{table} {key.pk} {key.sk}", owner_of(key.pk))

    def drop_jobs(self, being_id: str) -> None:
        """Do nothing: SQS cannot remove chosen messages, and a job for no Being ends at once."""

    def settle(self) -> None:
        """Do nothing: the pages are AWS's. Point-in-time backups go back 35 days."""

    def _items(self, table: str) -> Iterator[Item]:
        start: dict[str, Any] = {}
        while True:
            answer = self._aws.ask("scan", TableName=table, ConsistentRead=True, **start)
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
            for element in value:
                yield from _texts(element)
        case dict():
            for name, element in value.items():
                yield name
                yield from _texts(element)
        case _:  # numbers and nothing
            return
