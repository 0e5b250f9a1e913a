"""The origins of what a client writes: what it has received, and memories that it was shown.

A client that recalls what another server reported may write it again in other words. So memories
are noted as untrusted results too when they are shown, and what is written later carries their
origins. So are words of others that a person pastes into a conversation.
"""

from collections.abc import Callable, Iterable

from nacre.core.clock import Clock
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.origins import AGENT, HEARD, PASTED, Origin, Origins, texts_of
from nacre.ports.untrusted_results import Holder, UntrustedResults

_NOBODY: Origins = frozenset()


def origins_of_message(role: str, text: str, received: tuple[str, ...]) -> tuple[str, ...]:
    """Return the origins that a message is stored with, if its client has received these.

    What a person writes derives from no result of the agent's calls; that it is `heard` is implied.
    """
    if not _is_person(role):
        return received
    return texts_of({HEARD, PASTED}) if _is_pasted(text) else ()


def _is_person(role: str) -> bool:
    return role.casefold() == "user"


def _is_pasted(text: str) -> bool:
    from nacre.text.pasted_text import is_pasted  # noqa: PLC0415 - it compiles patterns

    return is_pasted(text)


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

    def heard(self, holder: Holder | None, messages: Iterable[tuple[str, str]]) -> None:
        """Note that a client has these messages, each a role and a text, if people pasted any."""
        if any(_is_person(role) and _is_pasted(text) for role, text in messages):
            self.shown(holder, (PASTED,))

    def shown(self, holder: Holder | None, origins: Iterable[Origin]) -> None:
        """Note those of a shown text's origins that are trusted less than its reader."""
        if holder is None:
            return
        for origin in sorted(set(origins), key=str):
            if origin.trust < AGENT.trust:
                self.ledger().note(holder, origin, self.clock())
