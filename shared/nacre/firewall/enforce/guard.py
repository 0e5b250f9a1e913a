"""A guard between one client and one server, over the raw bytes of their messages.

Every message is decided before it is forwarded. It is forwarded byte for byte, unless the policy
removes a part of it. Both generations of the protocol are supported.
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
from nacre.firewall.enforce.announced_lists import ListChanges, ListRefresh, SessionLists
from nacre.firewall.enforce.client_side import ClientSide
from nacre.firewall.enforce.content_check import Screen
from nacre.firewall.enforce.conversation import Conversation
from nacre.firewall.enforce.fast_path import FastPath
from nacre.firewall.enforce.json_edits import numbers
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.enforce.large_calls import Deciding, read_elsewhere
from nacre.firewall.enforce.large_results import LargeFindings, LargeMessage, Screening, sections_of
from nacre.firewall.enforce.listed_tools import ListFilter
from nacre.firewall.enforce.message import LISTS, OPENING, Id, Wire, WireError, message, parse, read
from nacre.firewall.enforce.mirrored_headers import legacy_mirrors, mirror_headers
from nacre.firewall.enforce.pending_approvals import HeldMessages
from nacre.firewall.enforce.pin_check import PinCheck
from nacre.firewall.enforce.server_side import ServerSide
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Release, Verdict
from nacre.firewall.pins import Pins
from nacre.firewall.rules.arguments.arguments import JsonNumber
from nacre.protocol import strict_json
from nacre.protocol.dispatch.request_state import RequestStates
from nacre.protocol.large_calls import LargeCall
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
    """Decides about the messages of one conversation; threads may share it.

    With `lines`, line ends separate messages, as over stdio. `states` seals the questions that a
    stateless client carries between its requests.
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
        conversation = Conversation(judge, screen or Screen(), pins, states, principal, being)
        self._lines = lines
        self._tick = tick
        self._lock = threading.Lock()
        self._set_up(conversation, PinCheck(conversation, tick), ListChanges(), SessionLists())

    def _set_up(
        self,
        conversation: Conversation,
        pin_check: PinCheck,
        changes: ListChanges,
        session: SessionLists,
    ) -> None:
        self._conversation = conversation
        self._pin_check = pin_check
        self._changes = changes
        self._list_refresh = ListRefresh(conversation, pin_check, changes, session)
        self._held_messages = HeldMessages(conversation, self._tick)
        self._client = ClientSide(conversation, self._held_messages, pin_check, self._list_refresh)
        self._fast_path = FastPath(conversation, pin_check, self._list_refresh)
        self._server = ServerSide(
            conversation,
            self._held_messages,
            ListFilter(conversation, pin_check),
            self._list_refresh,
        )

    def for_another_conversation(self) -> "Guard":
        """Return a guard for another conversation of the same caller with the same server.

        Over HTTP one caller may have many conversations at once, with equal request ids. They share
        the server's known tools and the approved calls.
        """
        guard = Guard.__new__(Guard)
        guard.screening = self.screening
        guard._lines, guard._tick, guard._lock = self._lines, self._tick, self._lock
        guard._set_up(
            self._conversation.for_another_conversation(),
            self._pin_check,
            self._changes,
            self._list_refresh.session,
        )
        return guard

    def begin_session(self) -> None:
        """Start a new session, whose lists have not been compared yet."""
        with self._lock:
            self._list_refresh.session = SessionLists()

    @property
    def version(self) -> str | None:
        """The version agreed on in `initialize`."""
        return self._conversation.version

    def mirrors(self, raw: bytes) -> dict[str, str]:
        """Return the HTTP headers for a message that was received without any."""
        return mirror_headers(raw, self._conversation.schemas, self._conversation.version)

    @property
    def holds(self) -> bool:
        """True while messages are held; then call `poll` about every second."""
        return bool(self._held_messages)

    def delays(self, raw: bytes) -> bool:
        """Tell whether a message should wait for a new list of the server.

        A message that does not wait is denied. Wait for a limited time, then pass it in.
        """
        return self._delayed(raw) is not None

    def first(self, raw: bytes) -> bytes | None:
        """Return the list request to send before a delayed message; None for other messages."""
        with self._lock:
            wire = self._delayed(raw)
            return None if wire is None else self._client.first(wire)

    def denial_in_new_session(self, raw: bytes) -> bytes | None:
        """Return the denial of a request that a new session does not allow.

        None when the request may be sent there.
        """
        with self._lock:
            try:
                return self._client.denial_in_new_session(
                    message(raw, read(raw, lines=self._lines))
                )
            except NacreError:
                return None  # it is not a request, or is a batch

    def _delayed(self, raw: bytes) -> Wire | None:
        """Return the message if it should wait for a list."""
        try:
            methods = self._list_refresh.delayed(raw)
            if not methods:
                return None
            value = read(raw, lines=self._lines)
            if type(value) is not dict or value.get("method") not in methods:
                return None
            return message(raw, value)
        except NacreError:
            return None

    def from_client(self, raw: bytes, headers: Mapping[str, str] | None = None) -> Verdict:
        """Decide about a message of the client; `headers` are HTTP's, with names in lower case."""
        wire: Wire | None = None
        with self._lock:
            try:
                if self._conversation.roots:
                    self._conversation.refresh_bases()
                if isinstance(raw, LargeCall):
                    value = raw.value(parse)
                else:
                    value = read(raw, lines=self._lines)
                if type(value) is dict:
                    verdict = self._fast(raw, value, headers)
                    if verdict is not None:
                        return verdict
                if type(value) is list:
                    return self._batch_up(raw, value)
                wire = message(raw, value)
                return self._client.take(wire, headers=headers)
            except Exception as error:  # noqa: BLE001 - after any error, nothing is forwarded
                return self._refused(error, wire, raw)

    def _fast(
        self, raw: bytes, value: dict[str, Any], headers: Mapping[str, str] | None
    ) -> Verdict | None:
        """Decide about a message on the fast path; None if it is not for it."""
        if headers is None:
            return self._fast_path.call(raw, value)
        mirrors = legacy_mirrors(raw, headers)
        if mirrors is None:
            return None
        verdict = self._fast_path.call(raw, value)
        return Forward(raw, None, mirrors) if isinstance(verdict, Forward) else verdict

    def large_call(self, raw: bytes) -> Deciding | None:
        """Return the task for `read_elsewhere` of a large message of a client.

        None when it is read here. Pass the message that comes back to `from_client`.
        """
        if len(raw) < LARGE_RESULT_BYTES or self.screening is None or len(raw) > MAX_WIRE_BYTES:
            return None
        with self._lock:
            conversation = self._conversation
            if conversation.roots:
                conversation.refresh_bases()
            judge = conversation.judge
            if conversation.schemas:  # headers mirror some arguments, and are compared with them
                return None
            try:
                policy = judge.policy()
            except NacreError:
                return None
            return Deciding(
                policy,
                judge.where,
                judge.server,
                dict(conversation.paths),
                received=conversation.received.origins,
            )

    def read_elsewhere(self, raw: bytes, deciding: Deciding) -> bytes:
        """Return a large message as `from_client` takes it; blocks."""
        assert self.screening is not None
        return read_elsewhere(raw, self.screening, lines=self._lines, deciding=deciding)

    def from_server(self, raw: bytes) -> Verdict:
        """Decide about a message of the server."""
        with self._lock:
            try:
                value = read(raw, lines=self._lines)
                if type(value) is dict:
                    verdict = self._fast_path.answer(raw, value)
                    if verdict is not None:
                        return verdict
                if type(value) is list:
                    return self._batch_down(raw, value)
                return self._server.take(message(raw, value))
            except Exception as error:  # noqa: BLE001 - as above
                return self._discarded(raw, error)

    def large(self, raw: bytes) -> LargeMessage | None:
        """Return the task for `screening` of a large answer; None when it is checked here.

        Pass the findings to `from_screening`.
        """
        if len(raw) < LARGE_RESULT_BYTES or self.screening is None or len(raw) > MAX_WIRE_BYTES:
            return None
        id_ = _id_at_an_end(raw)
        with self._lock:
            request = None if id_ is None else self._conversation.up.get(id_)
            if id_ is None or request is None or request.own or request.method in LISTS | OPENING:
                return None
            try:
                policy = self._conversation.judge.policy()
            except NacreError:
                return None
            return LargeMessage(
                id_, request.method, sections_of(policy), policy.digest, self._lines
            )

    def from_screening(
        self, raw: bytes, large: LargeMessage, findings: LargeFindings | None
    ) -> Verdict:
        """Decide about a large answer that was screened elsewhere."""
        with self._lock:
            request = self._conversation.up.get(large.id)
            is_same = (
                findings is not None
                and request is not None
                and request.method == large.method
                and findings.id == large.id
                and type(findings.id) is type(large.id)
                and self._conversation.judge.policy().digest == large.policy
            )
            if (
                is_same
                and findings is not None
                and self._conversation.up.take_running(large.id) is not None
            ):
                assert request is not None
                try:
                    return self._server.looked_at(request, large.id, raw, findings)
                except Exception as error:  # noqa: BLE001 - as above
                    return self._discarded(raw, error)
        return self.from_server(raw)

    def close_request(self, id_: Id, text: str, *, code: int) -> bytes | None:
        """Close a request whose answer will not come.

        Return the error for the client, or None if the client does not wait for an answer.
        """
        with self._lock:
            request = self._conversation.up.take(id_)
            if request is not None and request.own is not None:
                self._list_refresh.failed(request)
            if request is None or request.own is not None:
                return None
            self._note("note", "server", f"no answer to {request.method}: {text}")
            return refusals.error(request.id, code, text)

    def end_requests(self) -> None:
        """End all requests of this conversation, because nobody waits for their answers."""
        with self._lock:
            self._held_messages.cancel_all()
            self._conversation.up.end_all()
            self._conversation.down.end_all()

    def poll(self) -> list[Release]:
        """Return the held messages that were decided since, or that waited too long."""
        with self._lock:
            return self._held_messages.poll()

    # Messages that cannot be read or decided.

    def _refused(self, error: Exception, wire: Wire | None, raw: bytes = b"") -> Answer:
        text, code = self._reason(error)
        self._note("reject", "client", text)
        request_id = wire.id if wire is not None and wire.kind == "request" else None
        if isinstance(error, TooLargeError):
            request_id = _id_at_an_end(raw)
        elif wire is None:
            request_id = _readable_id(raw)
        id_ = error.id if isinstance(error, WireError) else request_id
        return Answer(refusals.error(id_, code, text), status=400)

    def _discarded(self, raw: bytes, error: Exception) -> Verdict:
        """Drop a server's message; the client that waits for it gets an error."""
        text, code = self._reason(error)
        self._note("drop", "server", text)
        if isinstance(error, WireError) and error.code == -32601:
            return Answer(refusals.error(error.id, code, text))
        request = self._conversation.up.take(id_) if (id_ := _guessed_id(raw)) is not None else None
        if request is not None and request.own is not None:
            self._list_refresh.failed(request)
        if request is None or request.own is not None:
            return Drop(text)
        reply = f"Blocked by policy (the server's answer was refused: {text})"
        return Forward(refusals.error(request.id, refusals.BLOCKED, reply))

    def _reason(self, error: Exception) -> tuple[str, int]:
        if not isinstance(error, NacreError):
            self._conversation.judge.tell(f"a message was refused: {type(error).__name__}")
            return "Blocked by policy (the message could not be decided)", -32603
        if isinstance(error, WireError):
            return str(error), error.code
        return str(error), next((code for kind, code in _CODES if isinstance(error, kind)), -32600)

    def _note(self, outcome: Any, sender: Any, text: str) -> None:
        self._conversation.judge.note(outcome, "unread", sender=sender, note=text)

    # Batches, which only old versions have.

    def _parts(self, raw: bytes, values: list[Any]) -> list[Wire]:
        if self._conversation.version not in BATCHED:
            raise WireError("batches are not taken; send one message at a time")
        if not values:
            raise WireError("a batch must hold a message")
        return [message(raw, value) for value in values]

    def _batch_up(self, raw: bytes, values: list[Any]) -> Verdict:
        """Forward a batch if all of its messages are allowed, otherwise none of them."""
        parts = self._parts(raw, values)
        verdicts: list[Verdict] = []
        for part in parts:
            try:
                verdicts.append(self._client.take(part, alone=False))
            except NacreError as error:
                verdicts.append(self._refused(error, part))
        if all(isinstance(verdict, Forward) and verdict.raw is raw for verdict in verdicts):
            return Forward(raw)
        answers: list[bytes] = []
        for part, verdict in zip(parts, verdicts, strict=True):
            if isinstance(verdict, Answer):
                answers.append(verdict.raw)
            elif isinstance(verdict, Forward) and part.kind == "request":
                assert part.id is not None
                self._conversation.up.take(part.id)
                text = "Not forwarded: another message of the batch was refused"
                answers.append(refusals.error(part.id, refusals.BLOCKED, text))
        return Answer(_list(answers)) if answers else Drop("no message of the batch is forwarded")

    def _batch_down(self, raw: bytes, values: list[Any]) -> Verdict:
        """Forward the allowed messages of a server's batch."""
        forwarded: list[bytes] = []
        answers: list[bytes] = []
        is_whole = True
        for value in values if self._parts(raw, values) else ():
            encoded = strict_json.encode(numbers(value))
            try:
                verdict = self._server.take(message(encoded, value), alone=False)
            except NacreError as error:
                verdict = self._discarded(encoded, error)
            match verdict:
                case Forward():
                    is_whole &= verdict.raw is encoded
                    forwarded.append(verdict.raw)
                case Answer():
                    is_whole = False
                    answers.append(verdict.raw)
                case Drop() | Hold():
                    is_whole = False
        if is_whole:
            return Forward(raw)
        answer = _list(answers) if answers else None
        if forwarded:
            return Forward(_list(forwarded), answer)
        return Answer(answer) if answer else Drop("no message of the batch is forwarded")


def _guessed_id(raw: bytes) -> Id | None:
    """Return the id of a refused answer, if it can be read."""
    if len(raw) > MAX_WIRE_BYTES:
        return _id_at_an_end(raw)
    try:
        value = json.loads(raw, parse_int=JsonNumber, parse_float=str)
    except (ValueError, RecursionError):
        return None
    id_ = value.get("id") if isinstance(value, dict) and "method" not in value else None
    if type(id_) is JsonNumber and len(id_) > 256:  # the same bound as for other messages
        return None
    return id_ if isinstance(id_, str) else None


def _readable_id(raw: bytes) -> Id | None:
    """Return the id of a refused request, as it was received."""
    if isinstance(raw, LargeCall) and raw.error is not None:
        id_ = raw.error.request_id
    else:
        id_ = readable_id(raw)
    return JsonNumber(str(id_)) if isinstance(id_, int) else id_


def _id_at_an_end(raw: bytes) -> Id | None:
    """Return the id of a message that is too large to read: the first or last member."""
    match = _ID_FIRST.match(raw) or _ID_LAST.search(raw[-1000:])
    if match is None:
        return None
    return (
        match[2].decode("utf-8", "replace") if match[1] is None else JsonNumber(match[1].decode())
    )


def _list(parts: list[bytes]) -> bytes:
    return b"[%b]" % b",".join(parts)
