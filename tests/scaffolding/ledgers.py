"""A ledger of untrusted results that keeps its notes in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from nacre.core.errors import UnavailableError
from nacre.core.origins import Origin, Origins
from nacre.ports.untrusted_results import Holder


@dataclass
class Ledger:
    """An UntrustedResults without a window; `everybody` has received what a test says."""

    everybody: set[Origin] = field(default_factory=set)
    noted: list[tuple[Holder, Origin]] = field(default_factory=list)
    is_down: bool = False

    def note(self, holder: Holder, origin: Origin, at: datetime) -> None:
        self._check()
        self.noted.append((holder, origin))

    def origins(self, holder: Holder, at: datetime) -> Origins:
        self._check()
        return frozenset(self.everybody | {origin for who, origin in self.noted if who == holder})

    def times(self, being_id: str, at: datetime) -> Mapping[Origin, int]:
        self._check()
        theirs = {origin for who, origin in self.noted if who.being_id == being_id}
        return dict.fromkeys(self.everybody | theirs, int(at.timestamp()))

    def _check(self) -> None:
        if self.is_down:
            raise UnavailableError("no ledger now")
