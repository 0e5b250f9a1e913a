"""Changing a part of a message: encoded once, and read again before it goes on."""

from typing import Any

from nacre.core.errors import MalformedMessageError
from nacre.firewall.enforce.message import parse
from nacre.firewall.rules.arguments.arguments import JsonNumber, number
from nacre.protocol import strict_json


def rewritten(raw: bytes, path: tuple[str, ...], value: Any) -> bytes:
    """Return the message with another value at the path."""
    body = parse(raw)
    place = body
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    encoded = strict_json.encode(numbers(body))
    if strict_json.parse(encoded) != numbers(body):
        raise MalformedMessageError("the message cannot be changed safely")
    return encoded


def numbers(value: Any) -> Any:
    """Return the value with its numbers as numbers."""
    kind = type(value)
    if kind is JsonNumber:
        found = number(value)
        if found is None:
            raise MalformedMessageError("the message holds a number that cannot be written again")
        return found
    if kind is dict:
        return {name: numbers(each) for name, each in value.items()}
    if kind is list:
        return [numbers(each) for each in value]
    return value
