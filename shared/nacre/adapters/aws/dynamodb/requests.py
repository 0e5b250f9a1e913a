"""The parameters of each call to DynamoDB."""

from typing import Any, assert_never

from nacre.adapters.aws.dynamodb.attribute_values import Attribute, encode_item
from nacre.adapters.aws.dynamodb.expressions import Expression
from nacre.adapters.items.item_query import Query, decode_cursor
from nacre.ports.items.table import Check, Delete, Item, Key, Put, Update, Write

Request = dict[str, Any]


def key_request(key: Key) -> dict[str, Attribute]:
    """Return the parameter that names an item."""
    return encode_item(key.attributes())


def write_request(write: Write, now: int) -> Request:
    """Return the request for a checked write."""
    expression = Expression(now)
    request: Request
    match write:
        case Put(item, when):
            request = {"Item": encode_item(item), **expression.condition(when)}
        case Update(key, change, when):
            request = {"Key": key_request(key), **expression.update(change, when)}
        case Delete(key, when) | Check(key, when):
            request = {"Key": key_request(key), **expression.condition(when)}
        case _:
            assert_never(write)
    if "ConditionExpression" in request:
        request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
    return request | expression.placeholders


def revival_request(item: Item, now: int) -> Request:
    """Return the request that puts an item in the place of an expired one."""
    expression = Expression(now)
    request = {"Item": encode_item(item), "ConditionExpression": expression.dead()}
    return request | expression.placeholders


def transaction_request(write: Write, revival: Item | None, table: str, now: int) -> Request:
    """Return the request for one write of a transaction."""
    if revival is not None:
        return {"Put": {"TableName": table, **revival_request(revival, now)}}
    operation = "ConditionCheck" if isinstance(write, Check) else type(write).__name__
    return {operation: {"TableName": table, **write_request(write, now)}}


def query_request(query: Query, start: str | None, now: int) -> Request:
    """Return the request for the items of a partition that have not expired."""
    expression = Expression(now)
    partition = f"{expression.name(query.partition_key)} = {expression.value(query.partition)}"
    bounds = _bounds(query, expression)
    request: Request = {
        "KeyConditionExpression": f"{partition} AND {bounds}" if bounds else partition,
        "FilterExpression": expression.live(),
        "ScanIndexForward": not query.descending,
    }
    if query.index is None:
        request["ConsistentRead"] = True
    else:
        request["IndexName"] = query.index
    if start is not None:
        position = dict(zip(query.position, decode_cursor(query, start), strict=True))
        position[query.partition_key] = query.partition
        request["ExclusiveStartKey"] = encode_item(position)
    return request | expression.placeholders


def _bounds(query: Query, expression: Expression) -> str:
    name = expression.name(query.sort_key) if query.has_bounds else ""
    if query.prefix:
        return f"begins_with({name}, {expression.value(query.prefix)})"
    if query.low and query.high is not None:
        low, high = expression.value(query.low), expression.value(query.high)
        return f"{name} BETWEEN {low} AND {high}"
    if query.low:
        return f"{name} >= {expression.value(query.low)}"
    if query.high is not None:
        return f"{name} <= {expression.value(query.high)}"
    return ""
