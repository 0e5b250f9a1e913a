"""Results of external servers that callers receive, for the rules about their later calls."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from nacre.core.errors import NacreError
from nacre.core.origins import external, texts_of
from nacre.firewall.rules.received_origins import HOUR, aged
from nacre.firewall.rules.rule import NOTHING
from nacre.protocol.holder import holder_of

if TYPE_CHECKING:
    from nacre.core.clock import Clock
    from nacre.firewall.rules.policy import Policy
    from nacre.ports.untrusted_results import UntrustedResults
    from nacre.protocol.context import Context


class ReceivedResults:
    """Notes what callers receive, and tells rules what they had received before a call.

    `ledger` is called when a result of an external server is handed over, or when a rule asks.
    """

    def __init__(self, ledger: "Callable[[], UntrustedResults]", clock: "Clock") -> None:
        self._ledger = ledger
        self._clock = clock

    def before(self, context: "Context", windows: tuple[bool, int]) -> frozenset[str] | None:
        """Return the origins of what a caller has received, None if nobody can tell now.

        `windows` are those of the rules about its call: whether one has none, and the longest.
        """
        holder = holder_of(context)
        if holder is None:
            return NOTHING
        asks_lately, hours = windows
        texts: set[str] = set()
        try:
            now = self._clock()
            if asks_lately:
                texts.update(texts_of(self._ledger().origins(holder, now)))
            if hours:
                seconds = now.timestamp()
                for origin, at in self._ledger().times(holder.being_id, now).items():
                    if seconds - at < (hours + 1) * HOUR and str(origin) not in texts:
                        texts.add(aged(str(origin), seconds - at))
        except NacreError:
            return None
        return frozenset(texts)

    def note(self, server: str, policy: "Policy", context: "Context") -> None:
        """Note that a caller receives content of a server; raises UnavailableError."""
        holder = holder_of(context)
        if holder is not None and _matters(policy, context):
            self._ledger().note(holder, external(server), self._clock())

    def note_again(self, context: "Context") -> None:
        """Note that a caller receives once more what it has received; raises UnavailableError."""
        holder = holder_of(context)
        if holder is None:
            return
        ledger, now = self._ledger(), self._clock()
        for origin in ledger.origins(holder, now):
            ledger.note(holder, origin, now)


def _matters(policy: "Policy", context: "Context") -> bool:
    """Tell whether anybody asks later: a rule, or the memory about what the caller writes."""
    principal = context.principal
    may_write = principal is not None and principal.may_write
    return may_write or any(rule.reads_origins for rule in policy.rules)
