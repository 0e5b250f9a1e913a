"""The item store on DynamoDB."""

import time
import uuid
from collections.abc import Iterable, Sequence
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
from nacre.adapters.items.conditions import holds
from nacre.adapters.items.item_query import encode_cursor, make_query
from nacre.adapters.items.values import check_key, is_expired
from nacre.adapters.items.writes import apply_once, changed, normal_write
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
    Index,
    Item,
    Key,
    Page,
    Put,
    Range,
    Update,
    Write,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_KEYS_AT_ONCE = 100  # what BatchGetItem takes
_ROUNDS = 8  # how often a write meets another one on an expired item before it gives up
_CONFLICTS = frozenset(
    {
        "TransactionConflict",
        "ThrottlingError",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
    }
)


class DynamoTable:
    """A Table in one DynamoDB table with the indexes gsi1 to gsi3."""

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

    def get(self, key: Key) -> Item | None:
        """Return the item as last acknowledged, or None."""
        check_key(key)
        answer = self._call("get_item", twice=True, Key=key_request(key), ConsistentRead=True)
        return _alive(answer.get("Item"), self._now())

    def get_many(self, keys: Iterable[Key]) -> dict[Key, Item]:
        """Return the items that exist; missing keys are left out."""
        wanted = list(dict.fromkeys(keys))
        for key in wanted:
            check_key(key)
        found: dict[Key, Item] = {}
        for first in range(0, len(wanted), _KEYS_AT_ONCE):
            for item in self._batch(wanted[first : first + _KEYS_AT_ONCE]):
                found[Key(str(item["pk"]), str(item["sk"]))] = item
        return found

    def put(self, item: Item, *, when: Condition | None = None) -> None:
        """Write the whole item, replacing what was there."""
        request = write_request(normal_write(Put(item, when)), self._now())
        try:
            self._call("put_item", twice=when is None, **request)
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
                answer = self._call("update_item", twice=False, **request)
                return decode_item(answer["Attributes"])
            except ClientError as error:
                revival = _revival(write, error.response.get("Item"), now)
            try:
                self._call("put_item", twice=False, **revival_request(revival, now))
            except ClientError:
                continue  # another writer was faster: the change goes onto its item
            return revival
        raise UnavailableError("others keep writing this item; try again")

    def delete(self, key: Key, *, when: Condition | None = None) -> Item | None:
        """Remove the item and return what was there."""
        now = self._now()
        request = write_request(normal_write(Delete(key, when)), now) | {"ReturnValues": "ALL_OLD"}
        try:
            answer = self._call("delete_item", twice=False, **request)
        except ClientError as error:
            raise ConditionFailedError from error
        return _alive(answer.get("Attributes"), now)

    def transact(self, writes: Sequence[Write], *, token: str | None = None) -> None:
        """Apply all writes or none."""
        apply_once(writes, self._transact, token=token, now=self._now())

    def query(
        self,
        partition: str,
        *,
        index: Index | None = None,
        keys: Range | None = None,
        descending: bool = False,
        limit: int | None = None,
        start: str | None = None,
    ) -> Page:
        """Return a partition's items in sort key order, at most `limit` of them."""
        query = make_query(partition, index=index, keys=keys, descending=descending, limit=limit)
        request = query_request(query, start, self._now())
        if query.is_empty:
            return Page((), None)
        items: list[Item] = []
        while True:
            if limit is not None:
                request["Limit"] = limit + 1 - len(items)  # one more: is there a next?
            answer = self._call("query", twice=True, **request)
            items += [decode_item(attributes) for attributes in answer["Items"]]
            if limit is not None and len(items) > limit:
                last = items[limit - 1]
                end = encode_cursor(query, [str(last[name]) for name in query.position])
                return Page(tuple(items[:limit]), end)
            if "LastEvaluatedKey" not in answer:
                return Page(tuple(items), None)
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _batch(self, keys: Sequence[Key]) -> list[Item]:
        now = self._now()
        items: list[Item] = []
        left: Any = {
            self._name: {"Keys": [key_request(key) for key in keys], "ConsistentRead": True}
        }
        for done in range(1, _ROUNDS + 1):
            answer = self._call("batch_get_item", twice=True, RequestItems=left)
            found = (_alive(each, now) for each in answer["Responses"].get(self._name, ()))
            items += [item for item in found if item is not None]
            left = answer.get("UnprocessedKeys")
            if not left:
                return items
            self._aws.pause(done)
        raise UnavailableError("DynamoDB is too busy to read these items; try again")

    def _transact(self, writes: Sequence[Write]) -> None:
        revivals: dict[int, Item] = {}  # updates that met an expired item, as whole items
        for done in range(1, _ROUNDS + 1):
            now = self._now()
            operations = [
                transaction_request(write, revivals.get(place), self._name, now)
                for place, write in enumerate(writes)
            ]
            # DynamoDB's own token covers the repeats of this one request. The caller's cannot be
            # it: the conditions hold the time, so a later call would be another request.
            token = str(uuid.UUID(int=self._aws.rng.getrandbits(128), version=4))
            try:
                self._call(
                    "transact_write_items",
                    twice=True,
                    TransactItems=operations,
                    ClientRequestToken=token,
                )
            except ClientError as error:
                reasons = error.response.get("CancellationReasons", [])
                codes = {reason.get("Code", "None") for reason in reasons} - {"None"}
                if "ConditionalCheckFailed" in codes:
                    revivals = _revivals(writes, reasons, revivals, now)
                elif codes <= _CONFLICTS:
                    self._aws.pause(done)
                else:
                    raise InvalidInputError("DynamoDB cannot do this transaction") from error
            else:
                return
        raise UnavailableError("others keep writing these items; try again")

    def _call(self, operation: str, *, twice: bool, **parameters: Any) -> Any:
        """Call DynamoDB; only a failed condition or transaction is left as a ClientError."""
        if operation not in ("batch_get_item", "transact_write_items"):
            parameters["TableName"] = self._name
        try:
            return self._aws.call(operation, twice=twice, **parameters)
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

    def _now(self) -> int:
        return int(self._clock().timestamp())


def _alive(attributes: Any, now: int) -> Item | None:
    if not attributes:
        return None
    item = decode_item(attributes)
    return None if is_expired(item, now) else item


def _revival(write: Update, old: Any, now: int) -> Item:
    """Return what to write in place of the expired item that an update met.

    Raises what the update really failed on, if the item had not expired.
    """
    before = _alive(old, now)
    if not holds(write.when, before):
        raise ConditionFailedError
    return changed(write.key, before, write.change)


def _revivals(
    writes: Sequence[Write], reasons: Sequence[Any], tried: dict[int, Item], now: int
) -> dict[int, Item]:
    """Return which updates of a cancelled transaction must be written as whole items."""
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
