"""The limits of a policy that count a call, and what happens to a call above one of them."""

from collections.abc import Callable, Iterator
from typing import NamedTuple
from weakref import WeakSet

from nacre.core.bounded_cache import BoundedCache
from nacre.core.clock import Clock
from nacre.core.errors import NacreError
from nacre.core.limits import RETRY_AFTER_SECONDS
from nacre.firewall.content.digests import canonical
from nacre.firewall.limits.counters import Counted, Counters
from nacre.firewall.limits.places import Places, Taken
from nacre.firewall.rules.evaluate import Engine
from nacre.firewall.rules.limit import Limit, Measure, Share
from nacre.firewall.rules.policy import Policy, RuleNames
from nacre.firewall.rules.rule import Action, Kind, Subject, Surroundings
from nacre.ports.items.table import Table

_REMEMBERED = 64  # policies and places


class Group(NamedTuple):
    """The limits that count a call in one group: of calls in a period, or of calls at a time."""

    name: str
    measure: Measure
    limits: list[Limit]


class Running:
    """A call that has places of limits."""

    def __init__(self, places: Places, taken: list[Taken], tell: Callable[[str], None]) -> None:
        self._places = places
        self._taken = taken
        self._tell = tell

    def end(self) -> None:
        """Give the places back; those that cannot be given back are free after a while."""
        taken, self._taken = self._taken, []
        for place in taken:
            try:
                self._places.give_back(place)
            except NacreError as error:
                self._tell(f"the end of a call cannot be counted: {error}")


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
        state = "reached" if limit.measure == "concurrency" else "used up"
        return f"{reason}: the limit of {limit.rate} is {state}; try again in {again}"


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
    """Counts calls in the item store, so that all processes count together.

    `tell` takes messages for the owner.
    """

    def __init__(
        self, table: Table, clock: Clock, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self._counters = Counters(table)
        self._places = Places(table)
        self._clock = clock
        self._tell = tell
        self._running: WeakSet[Running] = WeakSet()
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
    ) -> tuple[Spent | None, Running | None]:
        """Count a call, or return a limit that it is above; then nothing is counted.

        A call that has places of limits has to be ended. A person has `approved` calls above limits
        that ask. Raises UnavailableError.
        """
        now = int(self._clock().timestamp())
        groups = self._groups(policy, subject, where, caller=caller, being=being, approved=approved)
        # A call that is above a limit holds nothing meanwhile, which other calls could use.
        for group in groups:
            spent = self._spent(group, now)
            if spent is not None:
                return _above(spent, now), None
        counted: list[Counted] = []
        running = Running(self._places, taken := [], self._tell)
        for name, measure, limits in groups:
            result: Counted | Taken | Limit
            if measure == "concurrency":
                result = self._places.take(name, limits, now)
            else:
                result = self._counters.count(name, limits, now)
            match result:
                case Counted():
                    counted.append(result)
                case Taken():
                    taken.append(result)
                case Limit():
                    for earlier in counted:
                        self._counters.give_back(earlier)
                    running.end()
                    return _above(result, now), None
        if not taken:
            return None, None
        self._running.add(running)
        return None, running

    def end_all(self) -> None:
        """End the calls of this process, which closes."""
        for running in list(self._running):
            running.end()

    def _groups(
        self,
        policy: Policy,
        subject: Subject,
        where: Surroundings,
        *,
        caller: str,
        being: str,
        approved: bool,
    ) -> list[Group]:
        """Return the limits that count a call, in an order that all calls share.

        So of calls that race for several limits, one comes first at all of them.
        """
        values: dict[Share, str] = {
            "tool": subject.qualified,
            "server": subject.server,
            "caller": caller,
            "being": being,
        }
        by: dict[tuple[str, Measure], list[Limit]] = {}
        for limit in self._matcher.limits(policy, subject, where):
            if limit.measure == "result_bytes":
                continue
            if not (approved and limit.matching.action == "prompt"):
                group = canonical([[share, values[share]] for share in limit.by]).decode()
                by.setdefault((group, limit.measure), []).append(limit)
        return [Group(*key, limits) for key, limits in sorted(by.items(), key=lambda item: item[0])]

    def _spent(self, group: Group, now: int) -> Limit | None:
        if group.measure == "concurrency":
            return self._places.full(group.name, group.limits, now)
        return self._counters.spent(group.name, group.limits, now)


def _above(limit: Limit, now: int) -> Spent:
    if limit.measure == "concurrency":
        return Spent(limit, RETRY_AFTER_SECONDS)
    return Spent(limit, limit.seconds - now % limit.seconds)


def _duration(seconds: int) -> str:
    if seconds < 120:
        return "1 second" if seconds == 1 else f"{seconds} seconds"
    minutes = -(-seconds // 60)
    if minutes < 120:
        return f"{minutes} minutes"
    return f"{-(-minutes // 60)} hours"
