"""The limits of a policy that count a call, and what happens to a call above one of them."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from nacre.core.bounded_cache import BoundedCache
from nacre.core.clock import Clock
from nacre.core.errors import NacreError
from nacre.core.limits import RETRY_AFTER_SECONDS
from nacre.firewall.content.digests import canonical
from nacre.firewall.limits.concurrency import Places, Taken
from nacre.firewall.limits.counters import Counted, Counters, Use
from nacre.firewall.rules.evaluate import Engine
from nacre.firewall.rules.limit import Limit, Measure, Share
from nacre.firewall.rules.policy import Policy, RuleNames
from nacre.firewall.rules.rule import Action, Kind, Subject, Surroundings
from nacre.ports.items.table import Table
from nacre.protocol.large_calls import LargeArguments

_REMEMBERED = 64  # policies and places
_STATES: Mapping[Measure, str] = {
    "calls": "is used up",
    "bytes": "does not have enough left for this call",
    "concurrency": "is reached",
}


class Group(NamedTuple):
    """The limits that count a call in one item: of its places, or of calls and bytes."""

    name: str
    has_places: bool
    limits: list[Limit]


class Running:
    """A call that has places of limits, or whose result limits count."""

    def __init__(
        self,
        counters: Counters,
        places: Places,
        sent: int,
        tell: Callable[[str], None],
        unended: "set[Running]",
    ) -> None:
        self.counted: list[Counted] = []
        self.taken: list[Taken] = []
        self._counters = counters
        self._places = places
        self._sent = sent
        self._tell = tell
        self._unended = unended

    @property
    def counts_bytes(self) -> bool:
        """True if limits count the bytes of the result."""
        return any(counted.bytes for counted in self.counted)

    def end(self, returned: int = 0) -> None:
        """Count the bytes of the result and give the places back; only the first time counts."""
        places, self.taken = self.taken, []
        counted, self.counted = self.counted, []
        for place in places:
            self._try(partial(self._places.give_back, place))
        for count in counted:
            self._try(partial(self._counters.settle, count, self._sent + returned))
        self._unended.discard(self)

    def undo(self) -> None:
        """Forget the call, which is not made."""
        counted, self.counted = self.counted, []
        for count in counted:
            self._try(partial(self._counters.give_back, count))
        self.end()

    def _try(self, change: Callable[[], None]) -> None:
        try:
            change()
        except NacreError as error:  # a place is free after a while, and a reserve stays counted
            self._tell(f"the limits of a finished call could not be updated: {error}")


class Spent(NamedTuple):
    """A limit that is used up, for some more seconds; `sent` are the bytes of the arguments."""

    limit: Limit
    seconds: int
    sent: int = 0

    @property
    def action(self) -> Action:
        """The decision about the call: to deny it, or to ask."""
        return self.limit.matching.action

    @property
    def text(self) -> str:
        """The reason for the caller."""
        limit = self.limit
        reason = limit.matching.description or f"Blocked by policy ({limit.matching.origin})"
        if self.sent > limit.amount:
            size = f"{self.sent:,} bytes of arguments"
            return f"{reason}: this call has {size}, more than the limit of {limit.rate}"
        again = _duration(self.seconds)
        state = _STATES[limit.measure]
        return f"{reason}: the limit of {limit.rate} {state}; try again in {again}"


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
        self._unended: set[Running] = set()  # also those whose conversation is forgotten
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

        A call that is Running has to be ended. A person has `approved` calls above limits
        that ask. Raises UnavailableError.
        """
        now = int(self._clock().timestamp())
        groups = self._groups(policy, subject, where, caller=caller, being=being, approved=approved)
        use = self._use(policy, subject, where, groups)
        # A call that is above a limit holds nothing meanwhile, which other calls could use.
        for group in groups:
            spent = self._spent(group, now, use)
            if spent is not None:
                return _above(spent, now, use), None
        running = Running(self._counters, self._places, use.sent, self._tell, self._unended)
        try:
            above = self._count(groups, now, use, running)
        except NacreError:
            running.undo()
            raise
        if above is not None:
            running.undo()
            return _above(above, now, use), None
        if not running.taken and not running.counts_bytes:
            return None, None
        self._unended.add(running)
        return None, running

    def _count(self, groups: list[Group], now: int, use: Use, running: Running) -> Limit | None:
        """Count a call in all groups, up to one with a limit that it is above; return that."""
        for name, has_places, limits in groups:
            result: Counted | Taken | Limit
            if has_places:
                result = self._places.take(name, limits, now)
            else:
                result = self._counters.count(name, limits, now, use)
            match result:
                case Counted():
                    running.counted.append(result)
                case Taken():
                    running.taken.append(result)
                case Limit():
                    return result
        return None

    def _use(
        self, policy: Policy, subject: Subject, where: Surroundings, groups: list[Group]
    ) -> Use:
        """Return the bytes of a call; a result that is cut to some size has that reserved."""
        if all(limit.measure != "bytes" for group in groups for limit in group.limits):
            return Use()
        largest = self.result_limit(policy, subject, where)
        return Use(_size(subject.arguments), 0 if largest is None else largest.amount)

    def end_all(self) -> None:
        """End the calls of this process, which closes."""
        for running in list(self._unended):
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
        by: dict[tuple[str, bool], list[Limit]] = {}
        for limit in self._matcher.limits(policy, subject, where):
            if limit.measure == "result_bytes":
                continue
            if not (approved and limit.matching.action == "prompt"):
                group = canonical([[share, values[share]] for share in limit.by]).decode()
                by.setdefault((group, limit.measure == "concurrency"), []).append(limit)
        return [Group(*key, limits) for key, limits in sorted(by.items(), key=lambda item: item[0])]

    def _spent(self, group: Group, now: int, use: Use) -> Limit | None:
        if group.has_places:
            return self._places.full(group.name, group.limits, now)
        return self._counters.spent(group.name, group.limits, now, use)


def _above(limit: Limit, now: int, use: Use) -> Spent:
    if limit.measure == "concurrency":
        return Spent(limit, RETRY_AFTER_SECONDS)
    sent = use.sent if limit.measure == "bytes" else 0
    return Spent(limit, limit.seconds - now % limit.seconds, sent)


def _size(arguments: Mapping[str, Any]) -> int:
    """Return the size of a call's arguments as JSON; of a large call, that of its message."""
    if isinstance(arguments, LargeArguments):
        return len(arguments.whole)
    return len(canonical(arguments))


def _duration(seconds: int) -> str:
    if seconds < 120:
        return "1 second" if seconds == 1 else f"{seconds} seconds"
    minutes = -(-seconds // 60)
    if minutes < 120:
        return f"{minutes} minutes"
    return f"{-(-minutes // 60)} hours"
