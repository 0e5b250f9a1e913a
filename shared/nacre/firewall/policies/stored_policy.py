"""The policy in force in the item store, cached for a moment.

A Being's own policy takes precedence over the global one; without either, the built-in one is
in force.
"""

import threading
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from nacre.core.bounded_cache import BoundedCache
from nacre.core.errors import NacreError, PolicyError, UnavailableError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.limits import MAX_POLICY_SCOPES, POLICY_TTL_SECONDS
from nacre.firewall.policies.compiled import from_json
from nacre.firewall.rules.policy import Policy

GLOBAL = "global"
BUILT_IN = "built-in"
SCHEMA_VERSION = 1

Read = Callable[[tuple[str, str]], Mapping[str, Any] | None]
"""Returns the item of a key, or None; raises UnavailableError if it cannot be read."""


def partition(scope: str) -> str:
    """Return the partition of a scope's policies; a scope is `global` or a Being's id."""
    return f"P#{scope}"


def current_key(scope: str) -> tuple[str, str]:
    """Return the key of the policy in force."""
    return partition(scope), "CUR"


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """A policy, its scope and its version; version 0 is the built-in one or a file."""

    policy: Policy
    scope: str
    version: int


@dataclass(slots=True)
class _Cached:
    policy: PolicyInForce | None
    checked: float


class StoredPolicies:
    """The stored policy in force for each Being; safe to share between threads.

    If the store does not answer, or a policy does not load, the last good policy stays in
    force and `tell` gets a message. Without a last good policy, UnavailableError is raised.
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
        self._cache: BoundedCache[str, _Cached] = BoundedCache(MAX_POLICY_SCOPES)
        self._default: PolicyInForce | None = None

    def of(self, being_id: str | None) -> PolicyInForce:
        """Return the policy in force for a Being; the global one for None."""
        for scope in (being_id, GLOBAL) if being_id else (GLOBAL,):
            policy = self._of_scope(scope)
            if policy is not None:
                return policy
        with self._lock:
            if self._default is None:
                self._default = PolicyInForce(self._built_in(), BUILT_IN, 0)
            return self._default

    def _of_scope(self, scope: str) -> PolicyInForce | None:
        now = self._tick()
        with self._lock:
            cached = self._cache.get(scope)
            if cached is not None and now - cached.checked < POLICY_TTL_SECONDS:
                return cached.policy
            try:
                policy = self._load(scope, cached.policy if cached else None)
            except NacreError as error:
                if cached is None:
                    raise UnavailableError(
                        f"the policy of {scope} cannot be read: {error}",
                        public="the policy cannot be read now",
                    ) from error
                self._tell(f"{scope}: {error}; the last good policy stays in force")
                policy = cached.policy
            self._cache[scope] = _Cached(policy, now)
            return policy

    def _load(self, scope: str, before: PolicyInForce | None) -> PolicyInForce | None:
        item = self._read(current_key(scope))
        if item is None:
            return None
        version = item["version"]
        if before is not None and before.version == version:
            return before
        return PolicyInForce(unpacked(item), scope, version)


class Policies(Protocol):
    """The policy in force for each Being: StoredPolicies or LaptopPolicies."""

    def of(self, being_id: str | None) -> PolicyInForce:
        """Return the policy in force for a Being; the global one for None."""
        ...


class ScopedPolicy:
    """The policy of one Being, as a PolicySource."""

    def __init__(self, policies: Policies, being_id: str | None) -> None:
        self._policies = policies
        self._being_id = being_id

    def current(self) -> Policy:
        """Return the policy in force; raise UnavailableError if none can be read."""
        return self._policies.of(self._being_id).policy


def packed(compiled: str) -> bytes:
    """Return a compiled policy in its stored form."""
    return zlib.compress(compiled.encode(), 9)


def unpacked(item: Mapping[str, Any]) -> Policy:
    """Return the policy in an item; raise PolicyError if it cannot be read."""
    source = f"version {item.get('version')} of the stored policy"
    if item.get("schema") != SCHEMA_VERSION:
        raise PolicyError("was written by a newer version of nacre", source=source)
    try:
        text = zlib.decompress(item["compiled"]).decode()
    except (zlib.error, KeyError, TypeError, UnicodeDecodeError) as error:
        raise PolicyError("is damaged", source=source, hint="push it again") from error
    return from_json(text)
