"""A conversation over two pairs of pipes: what arrives is decided, what may go on is gathered."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import monotonic
from typing import Protocol

from nacre.core.limits import CHANGED_LIST_SECONDS, LARGE_RESULT_BYTES
from nacre.firewall.enforce.large_results import LargeMessage, Looked
from nacre.firewall.enforce.request_identity import cancelled_id, id_of
from nacre.firewall.enforce.verdicts import Answer, Drop, Forward, Hold, Release, Verdict
from nacre.firewall.proxy.stdio.lines import Lines


class Decides(Protocol):
    """Decides about messages; Guard does."""

    @property
    def holds(self) -> bool:
        """Whether a message is held, so that `poll` should be called now and then."""
        ...

    def from_client(self, raw: bytes) -> Verdict:
        """Decide about what the client sent."""
        ...

    def from_server(self, raw: bytes) -> Verdict:
        """Decide about what the server sent."""
        ...

    def delays(self, raw: bytes) -> bool:
        """Tell whether a message of the client should be brought a little later."""
        ...

    def first(self, raw: bytes) -> bytes | None:
        """Return the request that the server gets first, where a message is delayed."""
        ...

    def large(self, raw: bytes) -> LargeMessage | None:
        """Return what of a server's message is to be screened elsewhere."""
        ...

    def from_screening(self, raw: bytes, large: LargeMessage, looked: Looked | None) -> Verdict:
        """Decide about what was screened elsewhere."""
        ...

    def poll(self) -> list[Release]:
        """Return what becomes of held messages."""
        ...


Look = Callable[[bytes, LargeMessage], Looked | None]


class Relay:
    """Takes bytes of either side; `to_client` and `to_server` take what each is to get.

    `look` screens a large result, in a thread; `wake` is called there when that is done, so that
    `take_screened` is called here.
    """

    def __init__(
        self,
        guard: Decides,
        *,
        to_client: Callable[[bytes], None],
        to_server: Callable[[bytes], None],
        look: Look | None = None,
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._guard = guard
        self._look = look
        self._wake = wake
        self._screened: SimpleQueue[tuple[bytes, LargeMessage, Looked | None]] = SimpleQueue()
        self._screening = 0
        self._to_client = to_client
        self._to_server = to_server
        self._of_client = Lines()
        self._of_server = Lines()
        self._delayed: list[tuple[bytes, float]] = []

    @property
    def holds(self) -> bool:
        """Whether `poll` should be called about every second."""
        return bool(self._delayed) or self._guard.holds

    def from_client(self, chunk: bytes) -> None:
        """Take what the client wrote."""
        for line in self._of_client.feed(chunk):
            if self._guard.delays(line):
                if (first := self._guard.first(line)) is not None:
                    self._to_server(first)
                self._delayed.append((line, monotonic() + CHANGED_LIST_SECONDS))
                continue
            if self._delayed and self._gives_up(line):
                continue
            verdict = self._guard.from_client(line)
            if type(verdict) is Forward and verdict.answer is None:  # nearly always
                self._to_server(verdict.raw)
            else:
                self._settle(verdict, self._to_server, self._to_client)

    def from_server(self, chunk: bytes) -> None:
        """Take what the server wrote."""
        for line in self._of_server.feed(chunk):
            if len(line) >= LARGE_RESULT_BYTES and self._goes_elsewhere(line):
                continue
            verdict = self._guard.from_server(line)
            if type(verdict) is Forward and verdict.answer is None:
                self._to_client(verdict.raw)
            else:
                self._settle(verdict, self._to_client, self._to_server)
        if self._delayed:
            self._bring()

    @property
    def is_screening(self) -> bool:
        """Whether a large result is being screened, which its client still waits for."""
        return self._screening > 0

    def take_screened(self) -> None:
        """Pass on what was screened elsewhere."""
        while not self._screened.empty():
            line, large, looked = self._screened.get()
            self._screening -= 1
            verdict = self._guard.from_screening(line, large, looked)
            self._settle(verdict, self._to_client, self._to_server)

    def _goes_elsewhere(self, line: bytes) -> bool:
        """Have a large result screened, so that what comes after it need not wait."""
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

        self._screening += 1
        threading.Thread(target=screen, name="screening", daemon=True).start()
        return True

    def client_ended(self) -> None:
        """Take what the client wrote without an end of line, as it writes no more."""
        self._bring(late=True)
        for line in self._of_client.end():
            self._settle(self._guard.from_client(line), self._to_server, self._to_client)

    def server_ended(self) -> None:
        """Take what the server wrote without an end of line, as it writes no more."""
        for line in self._of_server.end():
            self._settle(self._guard.from_server(line), self._to_client, self._to_server)

    def poll(self) -> None:
        """Pass on what was held and is decided now."""
        if self._delayed:
            self._bring()
        for release in self._guard.poll():
            send = self._to_client if release.to == "client" else self._to_server
            send(release.raw)

    def _bring(self, *, late: bool = False) -> None:
        """Bring the messages whose time has come."""
        now, delayed = monotonic(), self._delayed
        self._delayed = []
        for line, until in delayed:
            if not late and now < until and self._guard.delays(line):
                self._delayed.append((line, until))
            else:
                self._settle(self._guard.from_client(line), self._to_server, self._to_client)

    def _gives_up(self, line: bytes) -> bool:
        """Forget a delayed request that its client cancels; its server never heard of it."""
        if b"notifications/cancelled" not in line:
            return False
        given_up = cancelled_id(line)
        kept = [each for each in self._delayed if given_up is None or id_of(each[0]) != given_up]
        is_delayed = len(kept) < len(self._delayed)
        self._delayed = kept
        return is_delayed

    def _settle(
        self, verdict: Verdict, on: Callable[[bytes], None], back: Callable[[bytes], None]
    ) -> None:
        match verdict:
            case Forward():
                on(verdict.raw)
                if verdict.answer is not None:
                    back(verdict.answer)
            case Answer(raw):
                back(raw)
            case Hold(ask):
                if ask is not None:
                    self._to_client(ask)
            case Drop():
                pass
