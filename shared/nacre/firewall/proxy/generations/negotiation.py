"""The first messages of a session, from which a proxy learns which generation each side speaks.

Until it knows, messages pass unchanged. Afterwards they still do, or they are translated.
"""

import secrets
from collections.abc import Mapping
from typing import Any, Protocol

from nacre.core.errors import MalformedMessageError
from nacre.firewall.enforce.message import Key, Wire, cancelled_id
from nacre.firewall.proxy.generations.steps import (
    Step,
    error_code,
    key,
    params_of,
    plain,
    refused,
    request,
    wire_of,
)
from nacre.protocol.versions import LEGACY_VERSIONS, MODERN

_MODERN_ERRORS = frozenset((-32020, -32021, -32022))  # that only the newer generation has
# How servers of the newer generation refuse `initialize`: no such method, no version in it.
_NO_SESSIONS = frozenset((-32601, -32602, -32600, -32020, -32021, -32022))


class Translation(Protocol):
    """Translates the messages of a session, in both directions."""

    @property
    def waits(self) -> bool:
        """True while messages of the client wait for the server."""
        ...

    def from_client(self, raw: bytes) -> list[Step]:
        """Translate a message of the client."""
        ...

    def from_server(self, raw: bytes) -> list[Step]:
        """Translate a message that the guard lets pass to the client."""
        ...

    def asked(self, raw: bytes, about: bytes) -> list[Step]:
        """Take a question of the guard about a message that it holds."""
        ...


class Negotiation:
    """One session, from its first message on: what both sides speak, and what follows from it."""

    def __init__(self) -> None:
        self.is_over = False  # every later message passes unchanged
        self._translation: Translation | None = None
        self._asked: dict[Key, Wire] = {}  # the client's first requests
        self._heard: dict[Key, Wire] = {}  # the server's own answers to them
        self._withheld: dict[Key, bytes] = {}  # errors that may say which generation it is
        self._probe: Key | None = None  # our own `server/discover`, until it is answered
        self._is_settled = False  # nothing is translated, but the probe has no answer yet

    @property
    def translates(self) -> bool | None:
        """Tell whether messages are translated; None while nobody knows."""
        if self._translation is not None:
            return True
        return False if self.is_over or self._is_settled else None

    @property
    def waits(self) -> bool:
        """True while messages of the client, or their repetition, wait for the server."""
        if self._translation is not None:
            return self._translation.waits
        return not self.is_over and any(wire.is_modern for wire in self._asked.values())

    def from_client(self, raw: bytes) -> list[Step]:
        """Return the next steps for a message of the client."""
        if self._translation is None:
            if not (self.is_over or self._is_settled):
                self._look(raw)
            return [Step("server", raw)]
        try:
            return self._translation.from_client(raw)
        except Exception:  # noqa: BLE001 - what cannot be translated is not forwarded
            return _untranslatable(raw, "request")

    # Imports inside functions: most sessions are never translated, and clients wait for a proxy.

    def _look(self, raw: bytes) -> None:
        wire = wire_of(raw)
        if wire is None:
            if raw.lstrip()[:1] == b"[":  # only old clients send batches
                self._settle()
        elif wire.kind == "request" and wire.method == "initialize":
            # The client has decided, even if it asked in the newer generation before.
            self._asked = {key(wire.id): wire}
        elif wire.kind == "request" and wire.is_modern:
            self._asked[key(wire.id)] = wire
        elif wire.kind == "request" and not self._asked:
            self._settle()
        elif wire.method == "notifications/cancelled" and wire.kind == "notification":
            # A request that the client has cancelled is not repeated in another generation.
            cancelled = cancelled_id(raw)
            if cancelled is not None:
                self._asked.pop(cancelled, None)
                self._withheld.pop(cancelled, None)

    def hears(self, raw: bytes) -> None:
        """Look at a message of the server before the guard decides about it."""
        if self._translation is not None or self.is_over or self._is_settled:
            return
        wire = wire_of(raw)
        if wire is None or wire.kind != "response":
            return
        id_ = key(wire.id)
        if id_ in self._asked or id_ == self._probe:
            self._heard[id_] = wire

    def from_server(self, raw: bytes) -> list[Step]:
        """Return the next steps for a message on its way to the client."""
        try:
            return self._from_server(raw)
        except Exception:  # noqa: BLE001 - as above
            return _untranslatable(raw, "response")

    def _from_server(self, raw: bytes) -> list[Step]:
        if self._probe is not None and self._ends_probe(raw):
            return self.ended()
        if self._translation is not None:
            return self._translation.from_server(raw)
        if self.is_over or self._is_settled:
            return [Step("client", raw)]
        wire = wire_of(raw)
        id_ = key(wire.id) if wire is not None and wire.kind == "response" else None
        heard = None if id_ is None else self._heard.pop(id_, None)
        if id_ is None or wire is None:
            return [Step("client", raw)]
        if id_ == self._probe:
            return self._probed(heard or wire, wire)
        first = self._asked.get(id_)
        if first is None or heard is None:  # an answer of the guard says nothing of the server
            self._asked.pop(id_, None)
            return [Step("client", raw)]
        return self._answered(id_, first, heard, wire)

    def asked(self, raw: bytes, about: bytes) -> list[Step]:
        """Take a question of the guard about a message that it holds."""
        if self._translation is None:
            return [Step("client", raw)]
        return self._translation.asked(raw, about)

    def ended(self) -> list[Step]:
        """Return the messages that were withheld; the server sends nothing more."""
        withheld, self._withheld = self._withheld, {}
        return [Step("client", raw) for raw in withheld.values()]

    def _answered(self, id_: Key, first: Wire, heard: Wire, passed: Wire) -> list[Step]:
        """Learn from the answer to a first request; `passed` is what the guard let through."""
        if first.method == "initialize":
            return self._opened(id_, first, heard, passed)
        if heard.error is not None:
            code = error_code(heard.error)
            if code in _MODERN_ERRORS:
                return self._unchanged(passed)
            if first.method == "server/discover":
                return self._newer_client(again=[id_])
            self._withheld[id_] = passed.raw
            return self._probed_with(params_of(first).get("_meta"))
        if first.method == "server/discover":
            return (
                self._unchanged(passed) if _speaks_newer(heard) else self._newer_client(again=[id_])
            )
        if "resultType" in heard.result:
            return self._unchanged(passed)
        # It has taken a request without a session, and answers as older servers do.
        translating = self._newer_client(again=[])
        return [*translating, *self.from_server(passed.raw)]

    def _opened(self, id_: Key, opening: Wire, heard: Wire, passed: Wire) -> list[Step]:
        if heard.error is not None:
            if error_code(heard.error) not in _NO_SESSIONS:
                return self._unchanged(passed)
            from nacre.firewall.proxy.generations.older_client import meta_of  # noqa: PLC0415 - see above

            self._withheld[id_] = passed.raw
            return self._probed_with(meta_of(plain(params_of(opening))))
        named, agreed = (
            params_of(opening).get("protocolVersion"),
            heard.result.get("protocolVersion"),
        )
        if named in LEGACY_VERSIONS and agreed in LEGACY_VERSIONS and agreed > named:
            from nacre.firewall.proxy.generations.older_version import OlderVersion  # noqa: PLC0415 - see above

            translation = OlderVersion(named)
            self._translation = translation
            return translation.begin(passed.raw) if passed.result else [Step("client", passed.raw)]
        return self._unchanged(passed)

    def _probed_with(self, meta: Any) -> list[Step]:
        """Ask the server whether it is of the newer generation."""
        if self._probe is not None:
            return []
        self._probe = f"nacre-probe-{secrets.token_hex(6)}"
        return [Step("server", request(self._probe, "server/discover", {"_meta": plain(meta)}))]

    def _probed(self, heard: Wire, passed: Wire) -> list[Step]:
        self._probe = None
        opening = next((wire for wire in self._asked.values() if wire.method == "initialize"), None)
        if opening is None:
            if heard.error is not None and error_code(heard.error) not in _MODERN_ERRORS:
                return self._newer_client(again=[])
            if heard.error is None and not _speaks_newer(heard):
                return self._newer_client(again=[])
        elif key(opening.id) not in self._withheld:
            return self.ended()  # its answer is still to come, and may ask again
        elif passed.error is None and _speaks_newer(passed):
            from nacre.firewall.proxy.generations.older_client import OlderClient  # noqa: PLC0415 - see above

            del self._withheld[key(opening.id)]
            withheld = self.ended()
            translation = OlderClient(opening, passed.result)
            self._translation = translation
            return [*withheld, *translation.begin(opening)]
        self.is_over = True
        return self.ended()

    def _unchanged(self, passed: Wire) -> list[Step]:
        self._settle()
        return [*self.ended(), Step("client", passed.raw)]

    def _settle(self) -> None:
        """Translate nothing; the negotiation is over once no answer to a probe is to come."""
        self._asked.clear()
        self._is_settled = True
        self.is_over = self._probe is None

    def _ends_probe(self, raw: bytes) -> bool:
        """Tell whether a message is the answer to a probe that decides nothing any more."""
        if self._translation is None and not self._is_settled:
            return False
        wire = wire_of(raw)
        if wire is None or wire.kind != "response" or key(wire.id) != self._probe:
            return False
        self._probe = None
        self.is_over = self._is_settled
        return True

    def _newer_client(self, again: list[Key]) -> list[Step]:
        from nacre.firewall.proxy.generations.newer_client import NewerClient  # noqa: PLC0415 - see above

        translation = NewerClient()
        self._translation = translation
        again = [*(id_ for id_ in self._withheld if id_ in self._asked), *again]
        for id_ in again:
            self._withheld.pop(id_, None)
        early: Mapping[Key, bytes] = {
            id_: wire.raw for id_, wire in self._asked.items() if id_ not in again
        }
        repeated = [self._asked[id_].raw for id_ in again]
        return [*self.ended(), *translation.begin(early, repeated)]


def _untranslatable(raw: bytes, kind: str) -> list[Step]:
    """Return the error for a client that waits for an answer; other messages are dropped."""
    wire = wire_of(raw)
    if wire is None or wire.kind != kind:
        return []
    error = MalformedMessageError("the message cannot be translated for the other side")
    return [Step("client", refused(key(wire.id), error, modern=False))]


def refuses_generation(error: Mapping[str, Any], *, is_newer: bool) -> bool:
    """Tell whether a server's error may mean that it does not speak the client's generation."""
    code = error_code(error)
    return code not in _MODERN_ERRORS if is_newer else code in _NO_SESSIONS


def _speaks_newer(wire: Wire) -> bool:
    """Tell whether the answer to `server/discover` names the newer generation."""
    versions = wire.result.get("supportedVersions")
    return type(versions) is list and MODERN in versions
