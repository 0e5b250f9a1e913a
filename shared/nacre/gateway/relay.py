"""A conversation over two pairs of pipes: what arrives is decided, what may go on is gathered."""

from collections.abc import Callable
from time import monotonic
from typing import Protocol

from nacre.gateway.lines import Lines
from nacre.limits import CHANGED_LIST_SECONDS
from nacre.policy.identity import cancelled_id, id_of
from nacre.policy.verdicts import Answer, Drop, Forward, Hold, Release, Verdict


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

    def poll(self) -> list[Release]:
        """Return what becomes of held messages."""
        ...


class Relay:
    """Takes bytes of either side; `to_client` and `to_server` take what each is to get."""

    def __init__(
        self,
        guard: Decides,
        *,
        to_client: Callable[[bytes], None],
        to_server: Callable[[bytes], None],
    ) -> None:
        self._guard = guard
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
            verdict = self._guard.from_server(line)
            if type(verdict) is Forward and verdict.answer is None:
                self._to_client(verdict.raw)
            else:
                self._settle(verdict, self._to_client, self._to_server)
        if self._delayed:
            self._bring()

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
