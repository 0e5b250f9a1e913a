"""`nacre proxy --url`: HTTP to the server, standard input and output to the client."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

from nacre.cli.exit_codes import INTERRUPTED, OK
from nacre.cli.proxy.options import ProxyOptions
from nacre.cli.proxy.remote import open_before, sayer, settings_of, upstream_of
from nacre.core.errors import InvalidInputError
from nacre.firewall.proxy.http.stdio_bridge import StdioProxy
from nacre.firewall.proxy.http.stdio_pipes import Lines, Output


def run(options: ProxyOptions) -> int:
    """Relay until the client has gone, and return the exit code."""
    if options.pass_authorization:
        raise InvalidInputError("--pass-authorization: a client on standard input sends no headers")
    if sys.stdin is None or sys.stdout is None:
        raise InvalidInputError(
            "standard input or output is closed; start the proxy from a client, with both open"
        )
    settings = settings_of(options)
    upstream = upstream_of(options)
    parts = open_before(upstream, options, settings)

    async def relay() -> int:
        proxy = StdioProxy(
            parts.new_guard(),
            upstream,
            write=Output(1).write,
            say=sayer(settings),
            transport=options.transport,
        )
        running = asyncio.ensure_future(proxy.run(Lines(0)))
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
    """Cancel what runs when this process is told to end, and remember by which signal."""
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)

    def end(number: int) -> None:
        ended.append(number)
        running.cancel()

    for each in signals:
        # Where a loop takes no signals, Ctrl-C raises KeyboardInterrupt.
        with contextlib.suppress(NotImplementedError, RuntimeError):
            loop.add_signal_handler(each, end, each)
    try:
        yield
    finally:
        for each in signals:
            with contextlib.suppress(NotImplementedError, RuntimeError):
                loop.remove_signal_handler(each)
