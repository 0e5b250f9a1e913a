"""The versions of policies in the item store; the newest is in force."""

import zlib
from collections.abc import Iterator
from datetime import datetime

from nacre.core.clock import Clock
from nacre.core.errors import ConditionFailedError, ConflictError, NotFoundError, TooLargeError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_POLICY_BYTES
from nacre.firewall.policies.compiled import to_json
from nacre.firewall.policies.loader import load_policy
from nacre.firewall.policies.stored_policy import SCHEMA_VERSION, current_key, packed, partition
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import (
    SCHEMA,
    Absent,
    Compare,
    Condition,
    Item,
    Key,
    Put,
    Range,
    Table,
    read_time,
)

_VERSION = "V#"
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a scope's policy, with the text that its owner wrote."""

    scope: str
    number: int
    digest: str
    pushed: datetime
    by: str
    text: str
    note: str = ""


class PolicyVersions:
    """The policies of every scope; a scope is `global` or a Being's id."""

    def __init__(self, table: Table, *, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def current(self, scope: str) -> Version | None:
        """Return the version in force, or None if none was pushed."""
        item = self._table.get(Key(*current_key(scope)))
        return None if item is None else self.version(scope, _number(item))

    def version(self, scope: str, number: int) -> Version:
        """Return a version; raise NotFoundError if there is none of this number."""
        item = self._table.get(_version_key(scope, number))
        if item is None:
            raise NotFoundError(
                f"there is no version {number} of the policy of {scope}; see 'nacre policy history'"
            )
        return _version(scope, item)

    def history(self, scope: str) -> Iterator[Version]:
        """Yield all versions, the newest first."""
        keys = Range(prefix=_VERSION)
        for item in every_item(
            self._table, partition(scope), keys=keys, descending=True, at_once=_PAGE
        ):
            yield _version(scope, item)

    def push(
        self, scope: str, text: str, *, source: str, based_on: int, by: str, note: str = ""
    ) -> Version:
        """Put a policy in force, and return its version.

        Raise PolicyError if the text does not load, and ConflictError if the version in
        force is not the one that the text is based on (0: none).
        """
        if len(text.encode()) > MAX_POLICY_BYTES:
            raise TooLargeError(f"the policy {source}", limit=MAX_POLICY_BYTES)
        policy = load_policy(text, source=source)
        compiled = packed(to_json(policy))
        if len(compiled) > MAX_POLICY_BYTES:
            raise TooLargeError(f"the compiled policy {source}", limit=MAX_POLICY_BYTES)
        now = self._clock()
        pushed = Version(scope, based_on + 1, policy.digest, now, by, text, note)
        facts: Item = {
            SCHEMA: SCHEMA_VERSION,
            "version": pushed.number,
            "digest": pushed.digest,
            "pushed": int(now.timestamp()),
        }
        history: Item = {**facts, "text": zlib.compress(text.encode(), 9), "by": by, "note": note}
        unchanged: Condition = Compare("version", "=", based_on) if based_on else Absent()
        writes = [
            Put(
                {**Key(*current_key(scope)).attributes(), **facts, "compiled": compiled}, unchanged
            ),
            Put({**_version_key(scope, pushed.number).attributes(), **history}, Absent()),
        ]
        try:
            self._table.transact(writes)
        except ConditionFailedError as error:
            raise self._conflict(scope, based_on) from error
        return pushed

    def _conflict(self, scope: str, based_on: int) -> ConflictError:
        item = self._table.get(Key(*current_key(scope)))
        current = f"version {_number(item)}" if item else "no version"
        base = f"version {based_on}" if based_on else "none"
        return ConflictError(
            f"the policy of {scope} has {current} in force, and this text is based on {base}; "
            "look at it with 'nacre policy pull', then push with --based-on and its number"
        )


def _version_key(scope: str, number: int) -> Key:
    return Key(partition(scope), f"{_VERSION}{number:08d}")


def _number(item: Item) -> int:
    number = item["version"]
    assert isinstance(number, int)
    return number


def _version(scope: str, item: Item) -> Version:
    text = item["text"]
    assert isinstance(text, bytes)
    return Version(
        scope=scope,
        number=_number(item),
        digest=str(item["digest"]),
        pushed=read_time(item["pushed"]),
        by=str(item.get("by", "")),
        text=zlib.decompress(text).decode(),
        note=str(item.get("note", "")),
    )
