"""The origins of what a client writes: what it has received, and memories that it was shown.

A client that recalls what another server reported may write it again in other words. So memories
are noted as untrusted results too when they are shown, and what is written later carries their
origins.
"""

from collections.abc import Callable, Iterable

from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.origins import AGENT, Origin, Origins, texts_of
from nacre.ports.untrusted_results import Holder, UntrustedResults

_NOBODY: Origins = frozenset()


@dataclass(frozen=True, slots=True)
class WriterOrigins:
    """Reads and writes the ledger of untrusted results, which is opened when it is first needed.

    Errors of the ledger are passed on: nothing is written and nothing is shown without it.
    """

    ledger: Callable[[], UntrustedResults]
    clock: Clock

    def of(self, holder: Holder | None) -> Origins:
        """Return the origins of what a client has received; a call in process has received none."""
        return _NOBODY if holder is None else self.ledger().origins(holder, self.clock())

    def of_text(self, holder: Holder | None) -> tuple[str, ...]:
        """Return the origins of a text that a client writes, as drafts and messages store them."""
        received = self.of(holder)
        return texts_of({AGENT, *received}) if received else ()

    def shown(self, holder: Holder | None, origins: Iterable[Origin]) -> None:
        """Note those of a shown text's origins that are trusted less than its reader."""
        if holder is None:
            return
        for origin in sorted(set(origins), key=str):
            if origin.trust < AGENT.trust:
                self.ledger().note(holder, origin, self.clock())
