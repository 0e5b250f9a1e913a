"""Signed writes with the standard library alone, for records that are only ever added.

The MCP function notes every call; loading boto3 for that would take most of the time of its first
answer.
"""

import json
import uuid
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from nacre.adapters.aws.dynamodb.get import SignedGet
from nacre.adapters.aws.dynamodb.requests import transaction_request, write_request
from nacre.ports.items.table import Condition, Item, Put, Write

_PUT = "DynamoDB_20120810.PutItem"


class SignedAppend(SignedGet):
    """Writes to one table; any failure raises UnavailableError."""

    _target = "DynamoDB_20120810.TransactWriteItems"
    _purpose = "take a record of"

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        """Write one item, at half the price of a transaction.

        A lost answer makes the same request go out again, which the condition has to allow.
        """
        request = {"TableName": self._table, **write_request(Put(item, when), int(self._clock()))}
        self._ask(json.dumps(request, default=_base64).encode(), _PUT)

    def transact(self, writes: Sequence[Write]) -> None:
        """Apply all writes or none; a request that is repeated is applied once."""
        now = int(self._clock())
        request = {
            "TransactItems": [
                transaction_request(write, None, self._table, now) for write in writes
            ],
            "ClientRequestToken": str(uuid.uuid4()),
        }
        self._ask(json.dumps(request, default=_base64).encode())


def _base64(value: Any) -> str:
    return b64encode(value).decode()
