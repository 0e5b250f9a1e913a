"""The policy in force, from the item store: kept for a moment, and the last good one beyond.

A Being's own policy comes before the global one; without either the built-in one counts.
"""

import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from nacre.core.errors import NacreError, PolicyError, UnavailableError
from nacre.core.limits import MAX_POLICY_SCOPES, POLICY_TTL_SECONDS
from nacre.firewall.policies.compiled import from_json
from nacre.firewall.rules.policy import Policy

GLOBAL = "global"
BUILT_IN = "built-in"
SCHEMA_VERSION = 1

Read = Callable[[tuple[str, str]], Mapping[str, Any] | None]
"""From the key of an item to the item; raises UnavailableError, never guesses."""


def partition(scope: str) -> str:
    """Return where the documents of a scope are: `global`, or a Being's id."""
    return f"P#{scope}"


def current_key(scope: str) -> tuple[str, str]:
    """Return where the document in force is."""
    return partition(scope), "CUR"


@dataclass(frozen=True, slots=True)
class InForce:
    """A policy, and which document it comes from; version 0 is the built-in one."""

    policy: Policy
    scope: str
    version: int


@dataclass(slots=True)
class _Kept:
    found: InForce | None
    checked: float


class StoredPolicies:
    """Gives each Being the policy that counts for it; threads may share it.

    A store that does not answer, or a document that does not load, leaves what was read
    before in force and `tell` hears of it; where nothing was read before, UnavailableError.
    """

    def __init__(
        self,
        read: Read,
        built_in: Callable[[], Policy],
        *,
        tick: Callable[[], float],
        tell: Callable[[str], None],
    ) -> None:
        self._read = read
        self._built_in = built_in
        self._tick = tick
        self._tell = tell
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}
        self._otherwise: InForce | None = None

    def of(self, being_id: str | None) -> InForce:
        """Return what counts for a Being, or for nobody in particular."""
        for scope in (being_id, GLOBAL) if being_id else (GLOBAL,):
            found = self._of_scope(scope)
            if found is not None:
                return found
        with self._lock:
            if self._otherwise is None:
                self._otherwise = InForce(self._built_in(), BUILT_IN, 0)
            return self._otherwise

    def _of_scope(self, scope: str) -> InForce | None:
        now = self._tick()
        with self._lock:
            kept = self._kept.get(scope)
            if kept is not None and now - kept.checked < POLICY_TTL_SECONDS:
                return kept.found
            try:
                found = self._loaded(scope, kept.found if kept else None)
            except NacreError as error:
                if kept is None:
                    raise UnavailableError(
                        f"the policy of {scope} cannot be read: {error}",
                        public="the policy cannot be read now",
                    ) from error
                self._tell(f"{scope}: {error}; the last good policy stays in force")
                found = kept.found
            if scope not in self._kept and len(self._kept) >= MAX_POLICY_SCOPES:
                self._kept.clear()
            self._kept[scope] = _Kept(found, now)
            return found

    def _loaded(self, scope: str, before: InForce | None) -> InForce | None:
        item = self._read(current_key(scope))
        if item is None:
            return None
        version = item["version"]
        if before is not None and before.version == version:
            return before
        return InForce(unpacked(item), scope, version)


class Policies(Protocol):
    """Knows what counts for each Being: StoredPolicies and LaptopPolicies do."""

    def of(self, being_id: str | None) -> InForce:
        """Return what counts for a Being, or for nobody in particular."""
        ...


class ScopedPolicy:
    """The policy of one Being, as a source for a judge."""

    def __init__(self, policies: Policies, being_id: str | None) -> None:
        self._policies = policies
        self._being_id = being_id

    def current(self) -> Policy:
        """Return the policy that counts now; raises UnavailableError when none is known."""
        return self._policies.of(self._being_id).policy


def packed(compiled: str) -> bytes:
    """Return a compiled policy as it is stored."""
    return zlib.compress(compiled.encode(), 9)


def unpacked(item: Mapping[str, Any]) -> Policy:
    """Return the policy that an item holds; PolicyError when it cannot be read."""
    source = f"version {item.get('version')} of the stored policy"
    if item.get("schema") != SCHEMA_VERSION:
        raise PolicyError("was written by a newer version of nacre", source=source)
    try:
        text = zlib.decompress(item["compiled"]).decode()
    except (zlib.error, KeyError, TypeError, UnicodeDecodeError) as error:
        raise PolicyError("is damaged", source=source, hint="push it again") from error
    return from_json(text)
