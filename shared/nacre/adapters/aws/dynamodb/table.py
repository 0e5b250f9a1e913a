"""The item store on DynamoDB."""

import time
import uuid
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from nacre.adapters.aws.calls import AwsCalls, Sleep, error_code, unavailable
from nacre.adapters.aws.dynamodb.attribute_values import decode_item
from nacre.adapters.aws.dynamodb.requests import (
    key_request,
    query_request,
    revival_request,
    transaction_request,
    write_request,
)
from nacre.adapters.items.checked_table import CheckedTable
from nacre.adapters.items.item_query import Query, encode_cursor
from nacre.adapters.items.values import is_expired, key_of
from nacre.adapters.items.writes import changed, holds, normal_write
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import (
    ConditionFailedError,
    ConfigurationError,
    InvalidInputError,
    UnavailableError,
)
from nacre.ports.items.table import (
    Change,
    Condition,
    Delete,
    Item,
    Key,
    Page,
    Put,
    Update,
    Write,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_ROUNDS = 8  # attempts of a write while others write the same items
_CONFLICTS = frozenset(
    {
        "TransactionConflict",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
    }
)


class DynamoTable(CheckedTable):
    """A Table in one DynamoDB table with the indexes gsi1 to gsi3."""

    _keys_at_once = 100  # as many as BatchGetItem takes

    def __init__(
        self,
        client: "DynamoDBClient",
        name: str,
        *,
        now: Clock = system_clock,
        sleep: Sleep = time.sleep,
        rng: Random | None = None,
    ) -> None:
        self._aws = AwsCalls(client, sleep=sleep, rng=rng)
        self._name = name
        self._clock = now

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        """Write the whole item, and replace the old one."""
        request = write_request(normal_write(Put(item, when)), self._now())
        try:
            self._call("put_item", repeatable=when is None, **request)
        except ClientError as error:
            raise ConditionFailedError from error

    def update(self, key: Key, change: Change, *, when: Condition | None = None) -> Item:
        """Change the item and return it as it is now."""
        write = normal_write(Update(key, change, when))
        assert isinstance(write, Update)
        for _ in range(_ROUNDS):
            now = self._now()
            try:
                request = write_request(write, now) | {"ReturnValues": "ALL_NEW"}
                answer = self._call("update_item", repeatable=False, **request)
                return decode_item(answer["Attributes"])
            except ClientError as error:
                revival = _revival(write, error.response.get("Item"), now)
            try:
                self._call("put_item", repeatable=False, **revival_request(revival, now))
            except ClientError:
                continue  # another writer was faster: the change goes onto its item
            return revival
        raise UnavailableError("others keep writing this item; try again")

    def delete(self, key: Key, *, when: Condition | None = None) -> Item | None:
        """Remove the item and return it, or None if there was none."""
        now = self._now()
        request = write_request(normal_write(Delete(key, when)), now) | {"ReturnValues": "ALL_OLD"}
        try:
            answer = self._call("delete_item", repeatable=False, **request)
        except ClientError as error:
            raise ConditionFailedError from error
        return _unexpired(answer.get("Attributes"), now)

    def _read_one(self, key: Key, now: int) -> Item | None:
        answer = self._call("get_item", repeatable=True, Key=key_request(key), ConsistentRead=True)
        return _unexpired(answer.get("Item"), now)

    def _read_page(self, query: Query, start: str | None, now: int) -> Page:
        request = query_request(query, start, now)
        items: list[Item] = []
        limit = query.limit
        while True:
            if limit is not None:
                request["Limit"] = (
                    limit + 1 - len(items)
                )  # one item more shows whether there is a next page
            answer = self._call("query", repeatable=True, **request)
            items += [decode_item(attributes) for attributes in answer["Items"]]
            if limit is not None and len(items) > limit:
                last = items[limit - 1]
                end = encode_cursor(query, [str(last[name]) for name in query.position])
                return Page(tuple(items[:limit]), end)
            if "LastEvaluatedKey" not in answer:
                return Page(tuple(items), None)
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _read_many(self, keys: Sequence[Key], now: int, *, may_lag: bool) -> dict[Key, Item]:
        items: dict[Key, Item] = {}
        unread: Any = {
            self._name: {
                "Keys": [key_request(key) for key in keys],
                "ConsistentRead": not may_lag,
            }
        }
        for attempt in range(1, _ROUNDS + 1):
            answer = self._call("batch_get_item", repeatable=True, RequestItems=unread)
            for attributes in answer["Responses"].get(self._name, ()):
                item = _unexpired(attributes, now)
                if item is not None:
                    items[key_of(item)] = item
            unread = answer.get("UnprocessedKeys")
            if not unread:
                return items
            self._aws.pause(attempt)
        raise UnavailableError("DynamoDB is too busy to read these items; try again")

    def _apply(self, writes: Sequence[Write], now: int) -> None:
        if len(writes) == 1 and _is_repeatable(write := writes[0]):  # for half the price
            operation = "put_item" if isinstance(write, Put) else "delete_item"
            self._call(operation, repeatable=True, **write_request(write, now))
            return
        revivals: dict[int, Item] = {}  # updates that met an expired item, as whole items
        for attempt in range(1, _ROUNDS + 1):
            operations = [
                transaction_request(write, revivals.get(place), self._name, now)
                for place, write in enumerate(writes)
            ]
            # This token covers repeats of this one request. The caller's token cannot be used: the
            # conditions contain the time, so a later call would be a different request.
            token = str(uuid.UUID(int=self._aws.rng.getrandbits(128), version=4))
            try:
                self._call(
                    "transact_write_items",
                    repeatable=True,
                    TransactItems=operations,
                    ClientRequestToken=token,
                )
            except ClientError as error:
                reasons = error.response.get("CancellationReasons", [])
                codes = {reason.get("Code", "None") for reason in reasons} - {"None"}
                if "ConditionalCheckFailed" in codes:
                    revivals = _revivals(writes, reasons, revivals, now)
                elif codes <= _CONFLICTS:
                    self._aws.pause(attempt)
                else:
                    raise InvalidInputError("DynamoDB cannot do this transaction") from error
            else:
                return
        raise UnavailableError("others keep writing these items; try again")

    def _call(self, operation: str, *, repeatable: bool, **parameters: Any) -> Any:
        """Call DynamoDB; only a failed condition or transaction raises a ClientError."""
        if operation not in ("batch_get_item", "transact_write_items"):
            parameters["TableName"] = self._name
        try:
            return self._aws.call(operation, repeatable=repeatable, **parameters)
        except ClientError as error:
            match error_code(error):
                case "ConditionalCheckFailedException" | "TransactionCanceledException":
                    raise
                case "ValidationException" | "ItemCollectionSizeLimitExceededException":
                    raise InvalidInputError(f"DynamoDB cannot do this {operation}") from error
                case "ResourceNotFoundException":
                    raise ConfigurationError(
                        f"the DynamoDB table {self._name} does not exist; is the stack deployed?"
                    ) from error
                case _:
                    raise unavailable(operation, error) from error


def _is_repeatable(write: Write) -> bool:
    """Return whether a write may be sent again without knowing if it was done before."""
    return isinstance(write, Put | Delete) and write.when is None


def _unexpired(attributes: Any, now: int) -> Item | None:
    if not attributes:
        return None
    item = decode_item(attributes)
    return None if is_expired(item, now) else item


def _revival(write: Update, old: Any, now: int) -> Item:
    """Return the item to write in place of an expired one that an update met.

    Raise the real error of the update if the item had not expired.
    """
    before = _unexpired(old, now)
    if not holds(write.when, before):
        raise ConditionFailedError
    return changed(write.key, before, write.change)


def _revivals(
    writes: Sequence[Write], reasons: Sequence[Any], tried: dict[int, Item], now: int
) -> dict[int, Item]:
    """Return the updates of a cancelled transaction that must be written as whole items."""
    result = dict(tried)
    refused: InvalidInputError | None = None
    for place, (write, reason) in enumerate(zip(writes, reasons, strict=True)):
        if reason.get("Code") != "ConditionalCheckFailed":
            continue
        if place in tried:
            del result[place]  # another writer was faster: the change goes onto its item
        elif not isinstance(write, Update):
            raise ConditionFailedError(place)
        else:
            try:
                result[place] = _revival(write, reason.get("Item"), now)
            except ConditionFailedError:
                raise ConditionFailedError(place) from None
            except InvalidInputError as error:
                refused = refused or error
    if refused is not None:
        raise refused
    return result
