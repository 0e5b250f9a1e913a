"""The messages of a session over pipes: each is decided, and passed on if it may."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic

from nacre.core.limits import CHANGED_LIST_SECONDS, LARGE_RESULT_BYTES, SCREENING_PROCESSES
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.enforce.large_results import LargeFindings, LargeMessage
from nacre.firewall.enforce.message import cancelled_id, id_of
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Verdict
from nacre.firewall.proxy.generations.negotiation import Negotiation
from nacre.firewall.proxy.generations.steps import Step
from nacre.firewall.proxy.stdio.lines import LineSplitter
from nacre.protocol.large_calls import whole

_CANCELLED = b"notifications/cancelled"
Look = Callable[[bytes, LargeMessage], LargeFindings | None]


class Relay:
    """Reads the bytes of both sides, and passes messages to `to_client` and `to_server`.

    `look` screens a large result in a thread, which then calls `wake`; large calls are read in such
    threads too. The caller of `wake` must make the loop call `relay_screened`. `negotiation`
    translates if the two sides are of different generations.
    """

    def __init__(
        self,
        guard: Guard,
        *,
        to_client: Callable[[bytes], None],
        to_server: Callable[[bytes], None],
        look: Look | None = None,
        wake: Callable[[], None] = lambda: None,
        negotiation: Negotiation | None = None,
    ) -> None:
        self._guard = guard
        self._negotiation = negotiation
        self._untranslated = to_client
        self._look = look
        self._wake = wake
        self._screened: SimpleQueue[tuple[bytes, LargeMessage, LargeFindings | None]] = (
            SimpleQueue()
        )
        self._screening_count = 0
        self._calls_read: SimpleQueue[bytes] = SimpleQueue()
        self._reading_count = 0
        self._waiting: list[bytes] = []  # cancellations, which may be about a call that is read
        self._to_client = to_client if negotiation is None else self._translate
        self._to_server: Callable[[bytes], None] = lambda raw: to_server(whole(raw))
        self._client_lines = LineSplitter()
        self._server_lines = LineSplitter()
        self._delayed: list[tuple[bytes, float]] = []

    @property
    def holds(self) -> bool:
        """True if `poll` should be called about every second."""
        return bool(self._delayed) or self._guard.holds

    def from_client(self, chunk: bytes) -> None:
        """Read bytes of the client."""
        for line in self._client_lines.feed(chunk):
            if self._negotiation is not None:
                self._follow(self._negotiation.from_client(line))
            else:
                self._take(line)

    def _take(self, line: bytes) -> None:
        """Take a message for the server."""
        if len(line) >= LARGE_RESULT_BYTES and self._starts_reading(line):
            return
        if self._reading_count and _CANCELLED in line:
            self._waiting.append(line)
            return
        self._decide(line)

    def _translate(self, raw: bytes) -> None:
        """Send the client a message in its generation."""
        if self._negotiation is None:
            self._untranslated(raw)
        else:
            self._follow(self._negotiation.from_server(raw))

    def _follow(self, steps: list[Step]) -> None:
        """Send translated messages where they go."""
        if self._negotiation is not None and self._negotiation.is_over:
            self._negotiation = None  # nothing is translated from now on
            self._to_client = self._untranslated
        for step in steps:
            if step.to == "client":
                self._untranslated(step.raw)
            else:
                self._take(step.raw)

    def _decide(self, line: bytes) -> None:
        """Decide about a message of the client."""
        if self._guard.delays(line):
            if (listing := self._guard.first(line)) is not None:
                self._to_server(listing)
            self._delayed.append((line, monotonic() + CHANGED_LIST_SECONDS))
            return
        if self._delayed and self._cancels_delayed(line):
            return
        verdict = self._guard.from_client(line)
        if type(verdict) is Forward and verdict.answer is None:  # the common case
            self._to_server(verdict.raw)
        else:
            self._apply(verdict, self._to_server, self._to_client, line)

    def from_server(self, chunk: bytes) -> None:
        """Read bytes of the server."""
        for line in self._server_lines.feed(chunk):
            if self._negotiation is not None:
                self._negotiation.hears(line)
            if len(line) >= LARGE_RESULT_BYTES and self._starts_screening(line):
                continue
            verdict = self._guard.from_server(line)
            if type(verdict) is Forward and verdict.answer is None:
                self._to_client(verdict.raw)
            else:
                self._apply(verdict, self._to_client, self._to_server, line)
        if self._delayed:
            self._decide_delayed()

    @property
    def is_screening(self) -> bool:
        """True while a client waits for a large result that is being screened."""
        return self._screening_count > 0

    @property
    def is_reading(self) -> bool:
        """True while a message of the client is still to be sent to the server."""
        return self._reading_count > 0 or (
            self._negotiation is not None and self._negotiation.waits
        )

    @property
    def takes_calls(self) -> bool:
        """True unless as many large calls are read as there are helpers."""
        return self._reading_count < SCREENING_PROCESSES

    def relay_screened(self) -> None:
        """Pass on the messages that were screened or read."""
        while not self._calls_read.empty():
            call = self._calls_read.get()
            self._reading_count -= 1
            self._decide(call)
            if not self._reading_count:
                waiting, self._waiting = self._waiting, []
                for line in waiting:
                    self._decide(line)
        while not self._screened.empty():
            line, large, looked = self._screened.get()
            self._screening_count -= 1
            verdict = self._guard.from_screening(line, large, looked)
            self._apply(verdict, self._to_client, self._to_server, line)

    def _starts_screening(self, line: bytes) -> bool:
        """Screen a large result in a thread, so that later messages need not wait."""
        look, large = self._look, self._guard.large(line)
        if look is None or large is None:
            return False

        def screen() -> None:
            looked = None
            try:
                looked = look(line, large)
            finally:
                self._screened.put((line, large, looked))
                self._wake()

        self._screening_count += 1
        threading.Thread(target=screen, name="screening", daemon=True).start()
        return True

    def _starts_reading(self, line: bytes) -> bool:
        """Read a large call in a thread, so that later messages need not wait."""
        guard, deciding = self._guard, self._guard.large_call(line)
        if self._look is None or deciding is None:
            return False

        def read() -> None:
            call = line
            try:
                call = guard.read_elsewhere(line, deciding)
            finally:
                self._calls_read.put(call)
                self._wake()

        self._reading_count += 1
        threading.Thread(target=read, name="reading", daemon=True).start()
        return True

    def client_ended(self) -> None:
        """Decide about the rest of the input, now that the client writes no more."""
        self._decide_delayed(has_ended=True)
        for line in self._client_lines.end():
            if self._negotiation is not None:
                self._follow(self._negotiation.from_client(line))
            else:
                self._decide_last(line)

    def server_ended(self) -> None:
        """Decide about the rest of the output, now that the server writes no more."""
        for line in self._server_lines.end():
            if self._negotiation is not None:
                self._negotiation.hears(line)
            self._apply(self._guard.from_server(line), self._to_client, self._to_server, line)
        if self._negotiation is not None:
            self._follow(self._negotiation.ended())

    def poll(self) -> None:
        """Pass on the held messages that are decided."""
        if self._delayed:
            self._decide_delayed()
        for release in self._guard.poll():
            send = self._to_client if release.to == "client" else self._to_server
            send(release.raw)

    def _decide_delayed(self, *, has_ended: bool = False) -> None:
        """Decide about the delayed messages whose list has arrived or whose time is over."""
        now, delayed = monotonic(), self._delayed
        self._delayed = []
        for line, deadline in delayed:
            if not has_ended and now < deadline and self._guard.delays(line):
                self._delayed.append((line, deadline))
            else:
                self._decide_last(line)

    def _decide_last(self, line: bytes) -> None:
        """Decide about a message that waits for nothing any more."""
        self._apply(self._guard.from_client(line), self._to_server, self._to_client, line)

    def _cancels_delayed(self, line: bytes) -> bool:
        """Drop a delayed request that its client cancels; the server has never seen it."""
        if _CANCELLED not in line:
            return False
        cancelled = cancelled_id(line)
        if cancelled is None:
            return False
        remaining = [(line, until) for line, until in self._delayed if id_of(line) != cancelled]
        is_delayed = len(remaining) < len(self._delayed)
        self._delayed = remaining
        return is_delayed

    def _apply(
        self,
        verdict: Verdict,
        forward: Callable[[bytes], None],
        answer: Callable[[bytes], None],
        line: bytes,
    ) -> None:
        match verdict:
            case Forward():
                forward(verdict.raw)
                if verdict.answer is not None:
                    answer(verdict.answer)
            case Answer(raw):
                answer(raw)
            case Hold(ask):
                if ask is not None and self._negotiation is not None:
                    self._follow(self._negotiation.asked(ask, line))
                elif ask is not None:
                    self._to_client(ask)
            case Drop():
                pass
