"""The limits of a policy that count a call, and what happens to a call above one of them."""

from collections.abc import Iterator
from typing import NamedTuple

from nacre.core.bounded_cache import BoundedCache
from nacre.core.clock import Clock
from nacre.firewall.content.digests import canonical
from nacre.firewall.limits.counters import Counted, Counters
from nacre.firewall.rules.evaluate import Engine
from nacre.firewall.rules.limit import Limit, Share
from nacre.firewall.rules.policy import Policy, RuleNames
from nacre.firewall.rules.rule import Action, Kind, Subject, Surroundings
from nacre.ports.items.table import Table

_REMEMBERED = 64  # policies and places


class Spent(NamedTuple):
    """A limit that is used up, for some more seconds."""

    limit: Limit
    seconds: int

    @property
    def action(self) -> Action:
        """The decision about the call: to deny it, or to ask."""
        return self.limit.matching.action

    @property
    def text(self) -> str:
        """The reason for the caller."""
        limit = self.limit
        reason = limit.matching.description or f"Blocked by policy ({limit.matching.origin})"
        again = _duration(self.seconds)
        return f"{reason}: the limit of {limit.rate} is used up; try again in {again}"


class LimitMatcher:
    """Finds the limits of a policy that count a call."""

    def __init__(self) -> None:
        self._names: BoundedCache[str, RuleNames] = BoundedCache(_REMEMBERED)
        self._engines: BoundedCache[tuple[str, int, Surroundings], Engine] = BoundedCache(
            _REMEMBERED
        )

    def limits(self, policy: Policy, subject: Subject, where: Surroundings) -> Iterator[Limit]:
        """Yield the limits that count a call."""
        for position in self.positions(policy, subject.kind, subject.name, subject.server):
            limit = policy.limits[position]
            if not limit.matching.is_unconditional:
                key = policy.digest, position, where
                engine = self._engines.get(key)
                if engine is None:
                    engine = self._engines[key] = Engine((limit.matching,), where)
                if engine.decide(subject).rule is None:
                    continue
            yield limit

    def positions(self, policy: Policy, kind: Kind, name: str, server: str) -> tuple[int, ...]:
        """Return the places of the limits about calls of this name."""
        names = self._names.get(policy.digest)
        if names is None:
            names = RuleNames([limit.matching for limit in policy.limits])
            self._names[policy.digest] = names
        return names.positions(kind, name, server)


class CallLimits:
    """Counts calls in the item store, so that all processes count together."""

    def __init__(self, table: Table, clock: Clock) -> None:
        self._counters = Counters(table)
        self._clock = clock
        self._matcher = LimitMatcher()

    def may_count(self, policy: Policy, kind: Kind, name: str, server: str) -> bool:
        """Tell whether a limit is about calls of this name, with some arguments."""
        return bool(self._matcher.positions(policy, kind, name, server))

    def result_limit(self, policy: Policy, subject: Subject, where: Surroundings) -> Limit | None:
        """Return the smallest limit of the size of this call's result."""
        limits = self._matcher.limits(policy, subject, where)
        sizes = (limit for limit in limits if limit.measure == "result_bytes")
        return min(sizes, key=lambda limit: limit.amount, default=None)

    def count(
        self,
        policy: Policy,
        subject: Subject,
        where: Surroundings,
        *,
        caller: str,
        being: str,
        approved: bool = False,
    ) -> Spent | None:
        """Count a call, or return a limit that it is above; then nothing is counted.

        A person has `approved` calls above limits that ask. Raises UnavailableError.
        """
        now = int(self._clock().timestamp())
        by: dict[tuple[Share, ...], list[Limit]] = {}
        for limit in self._matcher.limits(policy, subject, where):
            if limit.measure == "calls" and not (approved and limit.matching.action == "prompt"):
                by.setdefault(limit.by, []).append(limit)
        values: dict[Share, str] = {
            "tool": subject.qualified,
            "server": subject.server,
            "caller": caller,
            "being": being,
        }
        counted: list[Counted] = []
        for shares, limits in by.items():
            group = canonical([[share, values[share]] for share in shares]).decode()
            result = self._counters.count(group, limits, now)
            if isinstance(result, Counted):
                counted.append(result)
                continue
            for earlier in counted:
                self._counters.give_back(earlier)
            period = result.seconds
            return Spent(result, period - now % period)
        return None


def _duration(seconds: int) -> str:
    if seconds < 120:
        return "1 second" if seconds == 1 else f"{seconds} seconds"
    minutes = -(-seconds // 60)
    if minutes < 120:
        return f"{minutes} minutes"
    return f"{-(-minutes // 60)} hours"
