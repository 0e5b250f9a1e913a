"""A stack's services over HTTP that count what each request is billed as."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from tests.end_to_end.load.units import check_units, read_units, size, write_units
from tests.scaffolding.aws_stack import Stack
from tests.scaffolding.dynamodb_http import DynamoDb, b64, serving, unpacked

_SERVICES = {"AmazonSQS": "sqs", "TrentService": "kms"}
READS = {"GetItem", "BatchGetItem", "Query"}


@dataclass
class Asked:
    """How often something was asked for, and what that is billed as."""

    times: int = 0
    units: float = 0.0


Bill = dict[str, Asked]
"""From an operation of DynamoDB, or `sqs:`, `kms:` or `s3:` and theirs, to how often and units."""


class Metered(DynamoDb):
    """The tables, queue and key of a stack, and a bill that can be taken and begun anew."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack)
        self._stack = stack
        self._guard = Lock()
        self._bill: Bill = {}

    def bill(self) -> Bill:
        """Return what was asked since the last time."""
        with self._guard:
            bill, self._bill = self._bill, {}
        return bill

    def answer(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        service, _, operation = headers["x-amz-target"].partition(".")
        asked = unpacked(json.loads(body))
        if name := _SERVICES.get(service):
            self.note(f"{name}:{operation}")
            return 200, self._of_service(name, operation, json.loads(body))
        written = _written(operation, asked)
        before = [self._item(table, key) for _, table, key in written]
        status, answer = super().answer(headers, body)
        after = [self._item(table, key) for _, table, key in written]
        units = 0.0
        if operation in READS:
            units = _read(operation, asked, unpacked(json.loads(answer)))
        for (kind, _, _), old, new in zip(written, before, after, strict=True):
            units += (
                check_units(old)
                if kind == "ConditionCheck"
                else write_units(old, new, transaction=operation == "TransactWriteItems")
            )
        self.note(operation, units)
        return status, answer

    def note(self, name: str, units: float = 0) -> None:
        """Put a request on the bill."""
        with self._guard:
            asked = self._bill.setdefault(name, Asked())
            asked.times += 1
            asked.units += units

    def _of_service(self, name: str, operation: str, asked: dict[str, Any]) -> bytes:
        client = getattr(self._stack, name)
        method = "".join(f"_{each.lower()}" if each.isupper() else each for each in operation)[1:]
        answer = getattr(client, method)(**asked)
        answer.pop("ResponseMetadata")
        return json.dumps(answer, default=b64).encode()

    def _item(self, table: str, key: Mapping[str, Any]) -> dict[str, Any] | None:
        found = self._stack.dynamodb.get_item(TableName=table, Key=dict(key), ConsistentRead=True)
        return found.get("Item")


def _written(operation: str, asked: Mapping[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return what a request writes or checks: how, in which table, and which item."""
    if operation == "TransactWriteItems":
        return [
            (kind, write["TableName"], _key(write))
            for each in asked["TransactItems"]
            for kind, write in each.items()
        ]
    if operation in ("PutItem", "UpdateItem", "DeleteItem"):
        return [(operation, asked["TableName"], _key(asked))]
    assert operation in READS, operation
    return []


def _key(write: Mapping[str, Any]) -> dict[str, Any]:
    whole = write.get("Key") or write["Item"]
    return {name: whole[name] for name in ("pk", "sk")}


def _read(operation: str, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> float:
    consistent = bool(asked.get("ConsistentRead"))
    match operation:
        case "GetItem":
            return read_units([size(answer.get("Item") or {})], consistent=consistent)
        case "Query":
            return read_units([size(each) for each in answer["Items"]], consistent=consistent)
        case _:  # each item as if it were read alone, the missing ones too
            units = 0.0
            for table, wanted in asked["RequestItems"].items():
                found = answer["Responses"].get(table, [])
                sizes = [size(each) for each in found] + [0] * (len(wanted["Keys"]) - len(found))
                units += sum(
                    read_units([each], consistent=bool(wanted.get("ConsistentRead")))
                    for each in sizes
                )
            return units


@contextmanager
def metered(stack: Stack) -> Iterator[Metered]:
    """Serve the stack on loopback, and count."""
    with serving(Metered(stack)) as front:
        yield front
