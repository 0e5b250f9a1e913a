"""`nacre proxy --listen`: HTTP to the client and to the server."""

import asyncio
import signal
import socket
import sys
from collections.abc import Callable

from nacre.cli.exit_codes import INTERRUPTED, OK
from nacre.cli.proxy.options import ProxyOptions
from nacre.cli.proxy.remote import open_remote_proxy, upstream_of, warner
from nacre.cli.proxy.url_form import ending
from nacre.cli.serve.listening import BACKLOG, bind, fences, is_loopback, is_wildcard
from nacre.core.errors import InvalidInputError, NacreError
from nacre.core.logs import RareLog, log_at, where
from nacre.firewall.enforce.guard import Guard
from nacre.firewall.proxy.http.http_proxy import ReverseProxy
from nacre.firewall.proxy.http.http_server import Connections
from nacre.protocol.http.connection_limit import Crowd, connections_within_descriptors

_SWEEP_SECONDS = 1.0


def run(options: ProxyOptions) -> int:
    """Relay until a signal ends the process, and return the exit code."""
    if options.transport:
        raise InvalidInputError("--transport: with --listen the client chooses; leave it out")
    host, port = _place(options.listen)
    settings = options.settings()
    upstream = upstream_of(options, settings)
    parts = open_remote_proxy(upstream, options, settings)
    try:
        listener = _bound(host, port)
        warn = warner(settings)

        def new_guard(caller: str) -> Guard:
            return parts.new_guard(lines=False, principal=caller)

        proxy = ReverseProxy(
            upstream,
            new_guard,
            fences=fences(host, settings),
            warn=warn,
            with_credentials=options.pass_authorization,
        )
        rare = RareLog(log_at(settings.log_level))
        crowd = Crowd(
            rare,
            most=connections_within_descriptors(settings.http_connections),
            of_one_address=settings.address_connections,
            proxies=settings.trusted_proxies,
        )
        connections = Connections(
            proxy.handle, lambda error: warn(f"a fault: {where(error)}"), crowd
        )

        def welcome() -> None:
            _welcome(host, listener, upstream.address.path, upstream.address.authority)

        return asyncio.run(_serve(listener, proxy, connections, rare, welcome))
    finally:
        parts.close()


async def _serve(
    listener: socket.socket,
    proxy: ReverseProxy,
    connections: Connections,
    rare: RareLog,
    welcome: Callable[[], None],
) -> int:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(
        lambda _loop, context: rare.write("error", "server", said=str(context["message"]))
    )
    server = await loop.create_server(connections.accept, sock=listener, backlog=BACKLOG)

    async def sweep() -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            connections.sweep()

    running = asyncio.ensure_future(asyncio.gather(proxy.watch(), sweep()))
    ended: list[int] = []
    try:
        with ending(running, ended):
            welcome()
            await running
    except asyncio.CancelledError:
        pass
    finally:
        server.close()
        proxy.close()
        connections.close()
    return INTERRUPTED if ended[:1] == [signal.SIGINT] else OK


def _place(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise InvalidInputError("--listen: give HOST:PORT, such as 127.0.0.1:8080")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


def _bound(host: str, port: int) -> socket.socket:
    try:
        return bind(host, port)
    except NacreError as error:
        message = str(error).replace("--host", "--listen").replace("--port", "--listen")
        raise type(error)(message) from error


def _welcome(host: str, listener: socket.socket, path: str, behind: str) -> None:
    address = "127.0.0.1" if is_wildcard(host) else host
    name = f"[{address}]" if ":" in address else address
    sys.stderr.write(f"Proxy for {behind}. Press Ctrl-C to stop.\n")
    if not is_loopback(host):
        sys.stderr.write(
            f"warning: {host} can be reached from other machines. Anybody who reaches it uses the "
            "server with your headers, and the traffic is not encrypted.\n"
        )
    sys.stdout.write(f"http://{name}:{listener.getsockname()[1]}{path}\n")
    sys.stdout.flush()
