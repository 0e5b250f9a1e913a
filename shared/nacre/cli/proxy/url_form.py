"""`nacre proxy --url`: HTTP to the server, standard input and output to the client."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

from nacre.cli.exit_codes import INTERRUPTED, OK
from nacre.cli.proxy.options import ProxyOptions
from nacre.cli.proxy.remote import open_remote_proxy, upstream_of, warner
from nacre.core.errors import InvalidInputError
from nacre.firewall.proxy.http.stdio_bridge import StdioBridge
from nacre.firewall.proxy.http.stdio_pipes import LineReader, LineWriter


def run(options: ProxyOptions) -> int:
    """Relay until the client disconnects, and return the exit code."""
    if options.pass_authorization:
        raise InvalidInputError("--pass-authorization: a client on standard input sends no headers")
    if sys.stdin is None or sys.stdout is None:
        raise InvalidInputError(
            "standard input or output is closed; start the proxy from a client, with both open"
        )
    settings = options.settings()
    upstream = upstream_of(options, settings)
    parts = open_remote_proxy(upstream, options, settings)

    async def relay() -> int:
        proxy = StdioBridge(
            parts.new_guard(),
            upstream,
            write=LineWriter(1).write,
            warn=warner(settings),
            transport=options.transport,
        )
        running = asyncio.ensure_future(proxy.run(LineReader(0)))
        ended: list[int] = []
        with ending(running, ended), contextlib.suppress(ConnectionError):
            try:
                await running
            except asyncio.CancelledError:
                return INTERRUPTED if ended == [signal.SIGINT] else OK
        return OK

    try:
        return asyncio.run(relay())
    finally:
        parts.close()


@contextlib.contextmanager
def ending(running: "asyncio.Future[Any]", ended: list[int]) -> Iterator[None]:
    """Cancel a future when a signal ends the process, and append the signal to `ended`."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def end(number: int) -> None:
        ended.append(number)
        running.cancel()

    for ending_signal in signals:
        # If a loop cannot handle signals, Ctrl-C raises KeyboardInterrupt.
        with contextlib.suppress(NotImplementedError, RuntimeError):
            loop.add_signal_handler(ending_signal, end, ending_signal)
    try:
        yield
    finally:
        for ending_signal in signals:
            with contextlib.suppress(NotImplementedError, RuntimeError):
                loop.remove_signal_handler(ending_signal)
