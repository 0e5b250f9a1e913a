"""A guard between one client and one server, over the raw bytes of their messages.

Nothing goes on that was not decided, and what goes on is what was sent, byte for byte,
unless a part had to be taken out. It knows both generations of the protocol.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from nacre.core.errors import (
    HeaderMismatchError,
    InvalidParamsError,
    MalformedJsonError,
    NacreError,
    TooLargeError,
)
from nacre.core.limits import LARGE_RESULT_BYTES, MAX_WIRE_BYTES
from nacre.firewall.enforce import refusals
from nacre.firewall.enforce.announced_lists import Changes, Relisting, Session
from nacre.firewall.enforce.client_side import ClientSide
from nacre.firewall.enforce.content_check import Screen
from nacre.firewall.enforce.conversation import Conversation
from nacre.firewall.enforce.fast_path import Usual
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.enforce.large_results import LargeMessage, Looked, Screening, sections_of
from nacre.firewall.enforce.listed_tools import Listing
from nacre.firewall.enforce.message import LISTS, OPENING, Id, Wire, WireError, message, read
from nacre.firewall.enforce.mirrored_headers import made
from nacre.firewall.enforce.pending_approvals import Holding
from nacre.firewall.enforce.pin_check import Trust
from nacre.firewall.enforce.rewrite import numbers
from nacre.firewall.enforce.server_side import ServerSide
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Release, Verdict
from nacre.firewall.pins import Pins
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.protocol import strict_json
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.strict_json import readable_id

BATCHED = frozenset({"2025-03-26", "2024-11-05"})  # later generations have no batches
_CODES: tuple[tuple[type[NacreError], int], ...] = (
    (MalformedJsonError, -32700),
    (HeaderMismatchError, -32020),
    (InvalidParamsError, -32602),
)

_ID = rb'"id"\s*:\s*(?:(-?\d{1,256})|"([^"\\]{0,256})")\s*'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_ID_FIRST = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb",\s*)?" + _ID + rb"[,}]")
_ID_LAST = re.compile(_ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*$")


class Guard:
    """One conversation; any number of threads may bring its messages.

    `lines`: messages are told apart by ends of lines, as over stdio. `states` seals the
    questions that a client of the stateless generation keeps for us.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        screen: Screen | None = None,
        pins: Pins | None = None,
        states: RequestStates | None = None,
        principal: str = "local",
        being: str = "",
        lines: bool = True,
        tick: Callable[[], float] = time.monotonic,
        screening: Screening | None = None,
    ) -> None:
        self.screening = screening
        talk = Conversation(judge, screen or Screen(), pins, states, principal, being)
        self._lines = lines
        self._tick = tick
        self._lock = threading.Lock()
        self._watch(talk, Trust(talk, tick), Changes(), Session())

    def _watch(self, talk: Conversation, trust: Trust, changes: Changes, session: Session) -> None:
        self._talk = talk
        self._trust = trust
        self._changes = changes
        self._relisting = Relisting(talk, trust, changes, session)
        self._holding = Holding(talk, self._tick)
        self._client = ClientSide(talk, self._holding, trust, self._relisting)
        self._usual = Usual(talk, trust, self._relisting)
        self._server = ServerSide(talk, self._holding, Listing(talk, trust), self._relisting)

    def beside(self) -> "Guard":
        """Return a guard for another conversation of the same caller with the same server.

        Over HTTP one caller has many at once, whose ids are alike. What was learnt of the
        server's tools, and which calls were approved, counts for all of them.
        """
        guard = Guard.__new__(Guard)
        guard.screening = self.screening
        guard._lines, guard._tick, guard._lock = self._lines, self._tick, self._lock
        guard._watch(self._talk.beside(), self._trust, self._changes, self._relisting.session)
        return guard

    def begin_session(self) -> None:
        """Take what follows for a session of its own, whose lists nobody has compared yet."""
        with self._lock:
            self._relisting.session = Session()

    @property
    def version(self) -> str | None:
        """The version that an `initialize` has agreed on."""
        return self._talk.version

    def mirrors(self, raw: bytes) -> dict[str, str]:
        """Return the headers that go with a message over HTTP, for one that came without any."""
        return made(raw, self._talk.schemas, self._talk.version)

    @property
    def holds(self) -> bool:
        """Whether a message is held, so that `poll` should be called about every second."""
        return bool(self._holding)

    def delays(self, raw: bytes) -> bool:
        """Tell whether a message should wait, because the list it relies on is on its way.

        Whoever brings it sooner gets a denial. Wait for a bounded time, and then bring it.
        """
        return self._delayed(raw) is not None

    def first(self, raw: bytes) -> bytes | None:
        """Return the request that the server gets first, where a message is delayed; else None."""
        with self._lock:
            wire = self._delayed(raw)
            return None if wire is None else self._client.first(wire)

    def withdrawn(self, raw: bytes) -> bytes | None:
        """Return what the client gets in place of a request that a new session does not allow.

        None where the request may be sent there.
        """
        with self._lock:
            try:
                return self._client.withdrawn(message(raw, read(raw, lines=self._lines)))
            except NacreError:
                return None  # it was no request, or a batch

    def _delayed(self, raw: bytes) -> Wire | None:
        """Return a message that should wait for a list."""
        try:
            methods = self._relisting.delayed()
            if not any(method.encode() in raw for method in methods):
                return None
            value = read(raw, lines=self._lines)
            if type(value) is not dict or value.get("method") not in methods:
                return None
            return message(raw, value)
        except NacreError:
            return None

    def from_client(self, raw: bytes, headers: Mapping[str, str] | None = None) -> Verdict:
        """Decide about what the client sent; `headers` are HTTP's, with names in lower case."""
        wire: Wire | None = None
        with self._lock:
            try:
                if self._talk.roots:
                    self._talk.refresh_bases()
                value = read(raw, lines=self._lines)
                if type(value) is dict and headers is None:
                    usual = self._usual.call(raw, value)
                    if usual is not None:
                        return usual
                if type(value) is list:
                    return self._batch_up(raw, value)
                wire = message(raw, value)
                return self._client.take(wire, headers=headers)
            except Exception as error:  # noqa: BLE001 - whatever fails in here, nothing passes
                return self._refused(error, wire, raw)

    def from_server(self, raw: bytes) -> Verdict:
        """Decide about what the server sent."""
        with self._lock:
            try:
                value = read(raw, lines=self._lines)
                if type(value) is dict:
                    usual = self._usual.answer(raw, value)
                    if usual is not None:
                        return usual
                if type(value) is list:
                    return self._batch_down(raw, value)
                return self._server.take(message(raw, value))
            except Exception as error:  # noqa: BLE001 - as above
                return self._discarded(raw, error)

    def large(self, raw: bytes) -> LargeMessage | None:
        """Return what to give `screening` of a large answer; None for one that is decided here.

        What comes of it goes to `from_screening`.
        """
        if len(raw) < LARGE_RESULT_BYTES or self.screening is None or len(raw) > MAX_WIRE_BYTES:
            return None
        id_ = _id_at_an_end(raw)
        with self._lock:
            asked = None if id_ is None else self._talk.up.asked(id_)
            if id_ is None or asked is None or asked.own or asked.method in LISTS | OPENING:
                return None
            try:
                policy = self._talk.judge.policy()
            except NacreError:
                return None
            return LargeMessage(id_, asked.method, sections_of(policy), policy.digest, self._lines)

    def from_screening(self, raw: bytes, large: LargeMessage, looked: Looked | None) -> Verdict:
        """Decide about a large answer that was screened elsewhere."""
        with self._lock:
            asked = self._talk.up.asked(large.id)
            is_same = (
                looked is not None
                and asked is not None
                and asked.method == large.method
                and looked.id == large.id
                and type(looked.id) is type(large.id)
                and self._talk.judge.policy().digest == large.policy
            )
            if is_same and looked is not None and self._talk.up.take(large.id) is not None:
                assert asked is not None
                try:
                    return self._server.looked_at(asked, large.id, raw, looked)
                except Exception as error:  # noqa: BLE001 - as above
                    return self._discarded(raw, error)
        return self.from_server(raw)

    def lost(self, id_: Id, text: str, *, code: int) -> bytes | None:
        """Wait no longer for an answer that will not come.

        Returns what the client gets in its place, None where nobody waits for it.
        """
        with self._lock:
            asked = self._talk.up.take(id_)
            if asked is not None and asked.own is not None:
                self._relisting.failed(asked)
            if asked is None or asked.own is not None:
                return None
            self._note("note", "server", f"no answer to {asked.method}: {text}")
            return refusals.error(asked.id, code, text)

    def poll(self) -> list[Release]:
        """Return the held messages of which it is known now what becomes of them."""
        with self._lock:
            return self._holding.poll()

    # What is not one whole message.

    def _refused(self, error: Exception, wire: Wire | None, raw: bytes = b"") -> Answer:
        text, code = self._said(error)
        self._note("reject", "client", text)
        known = wire.id if wire is not None and wire.kind == "request" else None
        if isinstance(error, TooLargeError):
            known = _id_at_an_end(raw)
        elif wire is None:
            known = _readable_id(raw)
        id_ = error.id if isinstance(error, WireError) else known
        return Answer(refusals.error(id_, code, text), status=400)

    def _discarded(self, raw: bytes, error: Exception) -> Verdict:
        """Drop it; who waits for it is told, and a request with a wrong spelling is answered."""
        text, code = self._said(error)
        self._note("drop", "server", text)
        if isinstance(error, WireError) and error.code == -32601:
            return Answer(refusals.error(error.id, code, text))
        asked = self._talk.up.take(id_) if (id_ := _guessed_id(raw)) is not None else None
        if asked is not None and asked.own is not None:
            self._relisting.failed(asked)
        if asked is None or asked.own is not None:
            return Drop(text)
        told = f"Blocked by policy (the server's answer was refused: {text})"
        return Forward(refusals.error(asked.id, refusals.BLOCKED, told))

    def _said(self, error: Exception) -> tuple[str, int]:
        if not isinstance(error, NacreError):
            self._talk.judge.tell(f"a message was refused: {type(error).__name__}")
            return "Blocked by policy (the message could not be decided)", -32603
        if isinstance(error, WireError):
            return str(error), error.code
        return str(error), next((code for kind, code in _CODES if isinstance(error, kind)), -32600)

    def _note(self, outcome: Any, sender: Any, text: str) -> None:
        self._talk.judge.note(outcome, "unread", sender=sender, note=text)

    # Batches, which one generation has.

    def _parts(self, raw: bytes, values: list[Any]) -> list[Wire]:
        if self._talk.version not in BATCHED:
            raise WireError("batches are not taken; send one message at a time")
        if not values:
            raise WireError("a batch must hold a message")
        return [message(raw, value) for value in values]

    def _batch_up(self, raw: bytes, values: list[Any]) -> Verdict:
        """Forward a batch when every message of it may go on, else nothing of it."""
        parts = self._parts(raw, values)
        verdicts: list[Verdict] = []
        for part in parts:
            try:
                verdicts.append(self._client.take(part, alone=False))
            except NacreError as error:
                verdicts.append(self._refused(error, part))
        if all(isinstance(each, Forward) and each.raw is raw for each in verdicts):
            return Forward(raw)
        answers: list[bytes] = []
        for part, verdict in zip(parts, verdicts, strict=True):
            if isinstance(verdict, Answer):
                answers.append(verdict.raw)
            elif isinstance(verdict, Forward) and part.kind == "request":
                assert part.id is not None
                self._talk.up.take(part.id)
                text = "Not sent on: another message of the batch was refused"
                answers.append(refusals.error(part.id, refusals.BLOCKED, text))
        return Answer(_list(answers)) if answers else Drop("nothing of the batch goes on")

    def _batch_down(self, raw: bytes, values: list[Any]) -> Verdict:
        """Forward what may go on of a server's batch."""
        on: list[bytes] = []
        back: list[bytes] = []
        is_whole = True
        for value in values if self._parts(raw, values) else ():
            alone = strict_json.encode(numbers(value))
            try:
                verdict = self._server.take(message(alone, value), alone=False)
            except NacreError as error:
                verdict = self._discarded(alone, error)
            match verdict:
                case Forward():
                    is_whole &= verdict.raw is alone
                    on.append(verdict.raw)
                case Answer():
                    is_whole = False
                    back.append(verdict.raw)
                case Drop() | Hold():
                    is_whole = False
        if is_whole:
            return Forward(raw)
        answer = _list(back) if back else None
        if on:
            return Forward(_list(on), answer)
        return Answer(answer) if answer else Drop("nothing of the batch goes on")


def _guessed_id(raw: bytes) -> Id | None:
    """Return the id of an answer that is refused, as far as it can be read."""
    if len(raw) > MAX_WIRE_BYTES:
        return _id_at_an_end(raw)
    try:
        value = json.loads(raw, parse_int=JsonNumber, parse_float=str)
    except (ValueError, RecursionError):
        return None
    id_ = value.get("id") if isinstance(value, dict) and "method" not in value else None
    if type(id_) is JsonNumber and len(id_) > 256:  # wire's bound
        return None
    return id_ if isinstance(id_, str) else None


def _readable_id(raw: bytes) -> Id | None:
    """Return the id of a request that is refused, as it was received."""
    found = readable_id(raw)
    return JsonNumber(str(found)) if isinstance(found, int) else found


def _id_at_an_end(raw: bytes) -> Id | None:
    """Return the id of a message that is too large to be read: it is written first or last."""
    found = _ID_FIRST.match(raw) or _ID_LAST.search(raw[-1000:])
    if found is None:
        return None
    return (
        found[2].decode("utf-8", "replace") if found[1] is None else JsonNumber(found[1].decode())
    )


def _list(parts: list[bytes]) -> bytes:
    return b"[%b]" % b",".join(parts)
