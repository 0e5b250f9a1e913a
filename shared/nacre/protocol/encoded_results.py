"""A result whose members are JSON already, so that it can be passed on without being parsed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from nacre.protocol import strict_json


class Spelled(Mapping[str, Any]):
    """A large result; each member is parsed when it is first read.

    `uris` are those of the resources that it names.
    """

    __slots__ = ("members", "uris")

    def __init__(self, members: Mapping[str, bytes], uris: Sequence[str] = ()) -> None:
        self.members = dict(members)
        self.uris = tuple(uris)

    def __getitem__(self, name: str) -> Any:
        return json.loads(self.members[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, name: object) -> bool:
        return name in self.members

    def is_object(self, name: str) -> bool:
        """Tell whether a member is an object or missing."""
        return self.members.get(name, b"{").startswith(b"{")

    def joined(self, more: Mapping[str, Any]) -> "Spelled":
        """Return the result with these members, which replace those of the same names."""
        members = {name: strict_json.encode(value) for name, value in more.items()}
        return Spelled({**self.members, **members}, self.uris)

    def without(self, name: str) -> "Spelled":
        """Return the result without a member."""
        members = {member: value for member, value in self.members.items() if member != name}
        return Spelled(members, self.uris)

    def encode(self) -> bytes:
        """Return the result as compact JSON."""
        spelled = (strict_json.encode(name) + b":" + value for name, value in self.members.items())
        return b"{" + b",".join(spelled) + b"}"


class LargeAnswer(NamedTuple):
    """The answer to a request; `shown` is its result with empty large members."""

    id: str | int
    shown: dict[str, Any]
    result: Spelled


def spelled(value: Mapping[str, Any]) -> Spelled:
    """Return a result with each of its members as JSON."""
    return Spelled({name: strict_json.encode(inner) for name, inner in value.items()})


def apart(body: bytes, sizes: Sequence[tuple[str, int]]) -> dict[str, bytes]:
    """Split the JSON of several members by the size of each."""
    members, start = {}, 0
    for name, size in sizes:
        members[name] = body[start : start + size]
        start += size
    return members
