"""A proxy between a client on standard input and output and a server that it has started.

One thread waits for every descriptor. Bytes that one side does not read yet are buffered up to a
limit, above which the other side is not read either. So neither side can fill the memory, and
neither waits for the other because of the proxy.
"""

import gc
import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from nacre.core.limits import (
    DRAIN_SECONDS,
    PROXY_AWAKE_SECONDS,
    PROXY_BACKLOG_BYTES,
    PROXY_END_SECONDS,
    PROXY_REPLIES_BYTES,
)
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.proxy.generations.negotiation import Negotiation
from nacre.firewall.proxy.stdio.pipes import PipeWriter, close
from nacre.firewall.proxy.stdio.relay import Look, Relay
from nacre.firewall.proxy.stdio.server_process import ServerProcess

_CHUNK_BYTES = 1 << 16  # larger ones are mapped and unmapped for each read
_QUIET_SECONDS = 0.1
_SCREENED = 0  # no signal has this number: a large message has been screened or read
_IN = select.POLLIN
_OUT = select.POLLOUT
_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL
# Signals by which a terminal or a client ends a process, and others that are passed on.
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
_PASSED = (*_ENDING, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def proxy_stdio(
    guard: Guard,
    server: ServerProcess,
    *,
    stdin: int = 0,
    stdout: int = 1,
    look: Look | None = None,
) -> int:
    """Relay until the server has ended, and return its exit code as `ServerProcess.wait` does."""
    gc.freeze()  # imported objects stay, so no call waits for a collection that visits them
    with _signals() as (woken, waking):
        _Loop(guard, server, stdin, stdout, woken, look, lambda: _wake(waking)).run()
    return server.wait()


class _Loop:
    """The descriptors of one session, and the handler of each."""

    def __init__(
        self,
        guard: Guard,
        server: ServerProcess,
        stdin: int,
        stdout: int,
        woken: int,
        look: Look | None,
        wake: Callable[[], None],
    ) -> None:
        self._server = server
        self._client_in = stdin
        self._server_out = server.stdout
        os.set_blocking(server.stdout, False)
        self._client = PipeWriter(stdout, shared_with=2)
        self._upstream = PipeWriter(server.stdin)
        self._relay = Relay(
            guard,
            to_client=self._client.put,
            to_server=self._upstream.put,
            look=look,
            wake=wake,
            negotiation=Negotiation(),
        )
        self._woken = woken
        self._reads_client = True
        self._reads_server = True
        self._is_client_gone = False
        self._has_ended = False
        self._only_relays = True  # nothing but reading and passing on is to be done
        self._read_at = 0.0
        self._steps: list[tuple[float, Callable[[], None]]] = []
        self._interests: dict[int, int] = {}
        self._watched: tuple[bool, ...] = ()
        self._poll = select.poll()
        self._want(woken, _IN)
        self._handlers: dict[int, Callable[[int], None]] = {
            woken: self._on_signal,
            self._client_in: self._on_client,
            self._server_out: self._on_server,
            self._upstream.descriptor: self._on_upstream,
            self._client.descriptor: self._on_client_out,
        }

    def run(self) -> None:
        """Relay until the server has ended and the client has read everything."""
        next_poll = 0.0
        while self._is_needed():
            self._watch()
            self._serve(self._timeout())
            if self._relay.holds and monotonic() >= next_poll:
                self._relay.poll()
                next_poll = monotonic() + 1.0
            self._flush()
            if self._steps and monotonic() >= self._steps[0][0]:
                self._steps.pop(0)[1]()

    def _serve(self, timeout: float | None) -> None:
        """Call the handlers of ready descriptors, for as long as all bytes are written at once.

        Right after a message the next one is polled for without sleeping: waking a processor
        takes about as long as deciding about a message.
        """
        poll, handlers = self._poll.poll, self._handlers
        upstream, client, relay = self._upstream, self._client, self._relay
        self._only_relays = timeout is None
        is_quick = False
        while True:
            began = monotonic()
            ready = poll(0) if is_quick else poll(timeout)
            while is_quick and not ready:
                is_quick = monotonic() - began < PROXY_AWAKE_SECONDS
                ready = poll(0) if is_quick else poll(timeout)
            is_quick = monotonic() - began < PROXY_AWAKE_SECONDS
            for descriptor, events in ready:
                handlers[descriptor](events)
            if upstream.size:
                upstream.flush()
            if client.size:
                client.flush()
            if upstream.size or client.size or upstream.is_broken or client.is_broken:
                return
            if relay.holds or not self._only_relays:
                return

    def _is_needed(self) -> bool:
        return (
            not self._has_ended
            or self._reads_server
            or self._client.size > 0
            or (self._relay.is_screening and self._client.is_open)
        )

    def _timeout(self) -> float | None:
        """Return the longest time to wait, in milliseconds."""
        seconds = 1.0 if self._relay.holds else None
        if self._steps:
            seconds_left = max(0.0, self._steps[0][0] - monotonic())
            seconds = seconds_left if seconds is None else min(seconds, seconds_left)
        return None if seconds is None else seconds * 1000 + 1

    # Interests.

    def _watch(self) -> None:
        """Register the events that can be handled now."""
        client, upstream = self._client, self._upstream
        reads_client = (
            self._reads_client
            and self._relay.takes_calls
            and upstream.size < PROXY_BACKLOG_BYTES
            and client.size < PROXY_REPLIES_BYTES
        )
        reads_server = (
            self._reads_server
            and client.size < PROXY_BACKLOG_BYTES
            and upstream.size < PROXY_REPLIES_BYTES
        )
        writers = (upstream.is_open, upstream.size > 0, client.is_open, client.size > 0)
        watched = (reads_client, reads_server, *writers)
        if watched == self._watched:
            return
        self._watched = watched
        self._want(self._client_in, _IN if reads_client else None)
        self._want(self._server_out, _IN if reads_server else None)
        for writer in (upstream, client):
            if writer.is_open:
                self._want(writer.descriptor, _OUT if writer.size else 0)

    def _want(self, descriptor: int, events: int | None) -> None:
        if self._interests.get(descriptor) == events:
            return
        if events is None:
            del self._interests[descriptor]
            self._poll.unregister(descriptor)
        else:
            self._interests[descriptor] = events
            self._poll.register(descriptor, events)

    def _forget(self, descriptor: int) -> None:
        if descriptor in self._interests:
            self._want(descriptor, None)

    # Handlers.

    def _on_client(self, _events: int) -> None:
        chunk = _read(self._client_in)
        if chunk:
            self._relay.from_client(chunk)
        elif chunk is not None:
            self._only_relays = False
            self._relay.client_ended()
            self._client_left()

    def _on_server(self, _events: int) -> None:
        chunk = _read(self._server_out)
        if self._has_ended:
            self._read_at = monotonic()
        if chunk:
            self._relay.from_server(chunk)
        elif chunk is not None:
            self._only_relays = False
            self._relay.server_ended()
            self._server_left()

    def _on_upstream(self, events: int) -> None:
        self._only_relays = False
        self._upstream.flush(is_ready=bool(events & _OUT))
        if events & _GONE:
            self._upstream.fail()

    def _on_client_out(self, events: int) -> None:
        self._only_relays = False
        self._client.flush(is_ready=bool(events & _OUT))
        if events & _GONE:
            self._client.fail()

    def _on_signal(self, _events: int) -> None:
        self._only_relays = False
        for number in os.read(self._woken, 4096):
            if number in (signal.SIGCHLD, _SCREENED):
                continue
            self._server.send(number)
            if number in _ENDING:
                self._end_by_signal()
        self._relay.relay_screened()
        if not self._has_ended and self._server.has_ended():
            self._has_ended = True
            self._read_at = monotonic()
            self._plan(_QUIET_SECONDS, self._drain)

    def _flush(self) -> None:
        for writer in (self._upstream, self._client):
            if writer.size:
                writer.flush()
            if not writer.is_open:
                self._forget(writer.descriptor)
        if self._client.is_broken and not self._is_client_gone:
            self._is_client_gone = True
            self._client_left()
        elif self._reads_client and self._upstream.is_broken:
            self._hang_up()
        if not self._reads_client and not self._upstream.size and not self._relay.is_reading:
            self._close(self._upstream)
        if not self._reads_server and not self._client.size and not self._relay.is_screening:
            self._close(self._client)

    # The end.

    def _client_left(self) -> None:
        """Let the server finish, and end it if it does not."""
        self._reads_client = False
        self._forget(self._client_in)
        if not self._has_ended:
            seconds = PROXY_END_SECONDS if self._client.is_broken else DRAIN_SECONDS
            self._plan(seconds, self._terminate)

    def _hang_up(self) -> None:
        """Close the client's pipe, because the server has closed its own."""
        self._reads_client = False
        self._forget(self._client_in)
        close(self._client_in)

    def _end_by_signal(self) -> None:
        """End the server some time after the signal; at once after a second one."""
        if self._has_ended:
            self._server_left()
            self._client.fail()
            return
        if self._steps and self._steps[0][1] == self._kill:
            self._kill()
            return
        self._reads_client = False
        self._forget(self._client_in)
        self._plan(PROXY_END_SECONDS, self._kill)

    def _terminate(self) -> None:
        self._server.send(signal.SIGTERM)
        self._plan(PROXY_END_SECONDS, self._kill)

    def _kill(self) -> None:
        self._server.send(signal.SIGKILL)

    def _plan(self, seconds: float, step: Callable[[], None]) -> None:
        self._steps = [(monotonic() + seconds, step)]

    def _server_left(self) -> None:
        self._reads_server = False
        self._forget(self._server_out)

    def _drain(self) -> None:
        """Read the bytes that the server wrote before it ended.

        Other processes may hold the other end of its pipe, and are not waited for.
        """
        if self._server_out in self._interests and monotonic() - self._read_at >= _QUIET_SECONDS:
            self._server_left()
        else:
            self._plan(_QUIET_SECONDS, self._drain)

    def _close(self, writer: PipeWriter) -> None:
        self._forget(writer.descriptor)
        writer.close()


def _read(descriptor: int) -> bytes | None:
    """Return the available bytes, b"" at the end, None if there are none."""
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except BlockingIOError:
        return None
    except OSError:  # a terminal or a socket that is gone
        return b""


@contextmanager
def _signals() -> Iterator[tuple[int, int]]:
    """Yield a descriptor to read the numbers of signals from, and its other end."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    handlers = {}
    for number in (*_PASSED, signal.SIGCHLD):
        # Signals that the parent process ignores (nohup) stay ignored.
        if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
            handlers[number] = signal.signal(number, _do_nothing)
    try:
        os.write(writing, bytes([signal.SIGCHLD]))  # the server may have ended before
        yield reading, writing
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def _wake(waking: int) -> None:
    """Wake the loop from a thread; a full pipe wakes it anyway."""
    with suppress(OSError):
        os.write(waking, bytes([_SCREENED]))


def _do_nothing(_number: int, _frame: object) -> None:
    """Handle a signal: its number is in the pipe already."""
