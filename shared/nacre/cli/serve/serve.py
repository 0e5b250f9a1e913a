"""The command `nacre serve`: the server on this machine."""

import asyncio
import logging
import shlex
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from types import FrameType
from typing import Any

import click
import uvicorn

from nacre.access.scopes import NAMES
from nacre.cli.being_options import Place, placed
from nacre.cli.serve.job_log import log_job
from nacre.cli.serve.listening import BACKLOG, bind, fences, is_loopback, url_of
from nacre.cli.wrap.client_config import link_command, stdio_command, token_command, welcome
from nacre.core.errors import InvalidInputError
from nacre.core.limits import API_TOKEN_DAYS, DRAIN_SECONDS, KEEP_ALIVE_SECONDS
from nacre.core.logs import Level, Log, RareLog, log_at, where
from nacre.core.names import BEING_NAMES, checked_name
from nacre.core.token_prefixes import API
from nacre.faces.evaluator.evaluation import Evaluator
from nacre.faces.evaluator.evaluator_route import policy_endpoint
from nacre.faces.http.http_limits import BoundedProtocol
from nacre.faces.http.laptop_server import asgi_app
from nacre.faces.mcp_endpoint import called_address
from nacre.faces.task_errors import TaskRules
from nacre.jobs.loop import WorkerLoop
from nacre.protocol.changes import Changes
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.connection_limit import Crowd, connections_within_descriptors
from nacre.protocol.http.http_messages import HttpRequest
from nacre.protocol.principal import Principal
from nacre.web.asgi import AsgiApp
from nacre.web.lazy_app import LateApp
from nacre.wiring.features.policies import laptop_policies
from nacre.wiring.laptop import Laptop, first_being, open_laptop
from nacre.wiring.running_servers import noted
from nacre.wiring.settings import Settings

HOST = "127.0.0.1"
PORT = 8642
_GLANCE_SECONDS = 0.1  # how soon a second interrupt is seen


@click.command()
@click.option("--host", default=HOST, show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@placed
def serve(host: str, port: int, *, place: Place) -> None:
    """Run the server on this machine.

    The first start creates a Being and shows, this once, a token for it and what to paste
    into your client's configuration. Clients that take a URL alone need no token: give them
    the URL without the Being. Each start shows a link that signs you in, once, within the
    hour. Several servers may share a data folder.
    """
    if place.stack:
        raise InvalidInputError("serve runs on this machine; a stack has a URL of its own")
    settings = Settings.from_environment()
    laptop = open_laptop(place.folder(), settings)
    try:
        laptop.home.owners.get(place.owner_name)
        if not is_loopback(host):
            _warn(host)
        with bind(host, port) as listener:
            url = url_of(host, listener, settings)
            _show(laptop, place, url)
            link = laptop.home.authority().sign_in.links.make(place.owner_name)
            click.echo(f"\nSign in, once: {url.removesuffix('/mcp')}{link.path}")
            log = log_at(settings.log_level)
            changes = Changes(laptop.application.surface)
            app = _app(
                laptop, place, host, settings, log, changes, hurried=lambda: server.force_exit
            )
            server = _server(app, log, settings, stopping=changes.close)
            log.write("info", "serving", url=url, folder=str(laptop.folder))
            with noted(laptop.folder, url):
                server.run(sockets=[listener])
            log.write("info", "stopped")
    finally:
        laptop.close()


def _app(
    laptop: Laptop,
    place: Place,
    host: str,
    settings: Settings,
    log: Log,
    changes: Changes,
    *,
    hurried: Callable[[], bool],
) -> AsgiApp:
    base = called_address(settings.public_url, scheme="http")

    def admit(request: HttpRequest, path_being: str | None, query_being: str | None) -> Principal:
        return laptop.gate.admit(
            authorization=request.headers.get("authorization"),
            path_being=path_being,
            query_being=query_being,
            base=base(request),
        )

    @asynccontextmanager
    async def working() -> AsyncIterator[None]:
        loop = laptop.worker_loop(
            lambda outcome: log_job(log, outcome, fine="info"), TaskRules(log)
        )
        loop.start()
        try:
            yield
        finally:
            await _stop(loop, hurried)

    fenced = fences(host, settings)
    policies = laptop_policies(
        settings, laptop.home.data, lambda said: log.write("warning", "policy", said=said)
    )
    elsewhere = policy_endpoint(
        Evaluator(policies, log),
        holder=lambda authorization: laptop.gate.holder(authorization=authorization),
        fences=fenced,
        elsewhere=LateApp(lambda: _portal(laptop, place, fenced, settings, log)),
    )
    return asgi_app(
        laptop.application,
        admit=admit,
        fences=fenced,
        log=log,
        lifespan=working,
        elsewhere=elsewhere,
        base=base,
        changes=changes,
    )


def _portal(laptop: Laptop, place: Place, fenced: Fences, settings: Settings, log: Log) -> AsgiApp:
    """Return what is web; a server that only speaks MCP never loads it."""
    from nacre.console.control_console import controls
    from nacre.console.memory_console import console
    from nacre.web.portal import portal_app
    from nacre.web.portal_parts import Portal
    from nacre.wiring.console import laptop_console
    from nacre.wiring.control import laptop_control

    stdio = stdio_command(being="{being}", owner=place.owner_name, folder=laptop.folder)
    return portal_app(
        Portal(
            laptop.home.authority,
            settings.public_url,
            fenced,
            log,
            takes_documents=bool(settings.public_url),
            link_command=link_command(place.options()),
        ),
        console(laptop_console(laptop, shlex.join(place.options()), stdio)),
        controls(laptop_control(laptop, settings)),
    )


async def _stop(loop: WorkerLoop, hurried: Callable[[], bool]) -> None:
    """Let the jobs that run end, as long as nobody says a second time that the server should."""
    time = asyncio.get_running_loop().time
    end = time() + DRAIN_SECONDS
    while not await asyncio.to_thread(loop.stop, _GLANCE_SECONDS):
        if hurried() or time() >= end:
            return


class _Server(uvicorn.Server):
    """A server with limits for its connections, which a second interrupt ends at once."""

    def __init__(
        self, config: uvicorn.Config, crowd: Crowd, rare: RareLog, stopping: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._crowd = crowd
        self._rare = rare

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; what the event loop complains of is told in few lines."""
        asyncio.get_running_loop().set_exception_handler(self._complain)
        await super().startup(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Look after the connections, every second."""
        if counter % 10 == 0:
            self._crowd.sweep()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End subscriptions, and finish the calls in flight."""
        self._stopping()
        await super().shutdown(sockets)

    def _complain(self, _loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        # Without a free descriptor the loop complains at every connection that waits.
        error = context.get("exception")
        said = str(context.get("message", "a fault of the event loop"))
        kind = where(error) if isinstance(error, Exception) else ""
        self._rare.write("error", "server", said=f"{said}: {kind}" if kind else said)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal; cut the connections when it is the second one."""
        super().handle_exit(sig, frame)
        if self.force_exit:
            # Since Python 3.12 a server counts as closed once its last connection is.
            for connection in list(self.server_state.connections):
                connection.transport.abort()


def _server(
    app: AsgiApp, log: Log, settings: Settings, *, stopping: Callable[[], None]
) -> uvicorn.Server:
    """Return a server that a signal stops, once it has finished the calls in flight.

    `stopping` ends what would go on for ever.
    """
    rare, proxies = RareLog(log), settings.trusted_proxies
    server_log = logging.getLogger("uvicorn")
    server_log.handlers = [_JsonLines(rare)]
    server_log.propagate = False
    crowd = Crowd(
        rare,
        most=connections_within_descriptors(settings.http_connections),
        of_one_address=settings.address_connections,
        proxies=proxies,
    )

    def connection(**parts: Any) -> BoundedProtocol:
        return BoundedProtocol(crowd, **parts)

    server = _Server(
        uvicorn.Config(
            app,
            access_log=False,
            log_config=None,
            log_level="warning",
            lifespan="on",
            loop="asyncio",
            http=connection,  # type: ignore[arg-type] # it is only called
            # The loop tries so often in a row to accept when no descriptor is free.
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            # Nobody else chooses the address that attempts are counted by.
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            server_header=False,
            timeout_graceful_shutdown=DRAIN_SECONDS,
            ws="none",
        ),
        crowd,
        rare,
        stopping,
    )

    def stop(_number: int, _frame: object) -> None:
        server.should_exit = True

    # For signals before uvicorn listens to them, and after: it raises the one that stopped it
    # again, but to be told to stop is no failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return server


def _show(laptop: Laptop, place: Place, url: str) -> None:
    """Say where the Beings are; on the first start make one, with its token."""
    home, owner = laptop.home, place.owner_name
    first = first_being(home, owner, asked_name)
    if first is None:
        for being in home.beings.of_owner(owner):
            click.echo(f"{being.name}: {url}/{being.being_id}")
            click.echo(f"For a token: {token_command(being.name, place.options())}", err=True)
        return
    issued = home.tokens.issue(
        API,
        being_id=first.being_id,
        owner=owner,
        scopes=NAMES["full"],
        lifetime=timedelta(days=API_TOKEN_DAYS),
        label="first start",
    )
    click.echo(
        welcome(
            being=first.name,
            url=f"{url}/{first.being_id}",
            token=issued.token,
            stdio=stdio_command(being=first.name, owner=owner, folder=laptop.folder),
            options=place.options(),
        )
    )


def asked_name() -> str:
    """Return the name of the first Being: what is typed at a terminal, else a proposed one."""
    proposed = BEING_NAMES[0]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return proposed
    click.echo(
        f"What is your Being called? Your agents will hear 'You are NAME'. Some names: "
        f"{', '.join(BEING_NAMES)}.",
        err=True,
    )
    return str(click.prompt("Name", default=proposed, value_proc=_being_name, err=True))


def _being_name(text: str) -> str:
    try:
        return checked_name(text, what="Being's name")
    except InvalidInputError as error:
        raise click.UsageError(str(error)) from None


def _warn(host: str) -> None:
    click.echo(
        f"warning: {host} can be reached from other machines. Whoever has a token may use it, "
        "and what is sent is not encrypted: put a server with TLS in front, or use an SSH "
        "tunnel and leave --host alone.",
        err=True,
    )


class _JsonLines(logging.Handler):
    """Turns what uvicorn says into lines like ours."""

    def __init__(self, log: RareLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, without the text of an exception, which may quote a request."""
        error = record.exc_info[1] if record.exc_info else None
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        # A message may quote what was sent; its template cannot.
        said = str(record.msg).strip()
        self._log.write(level, "server", said=f"{said}: {where(error)}" if error else said)
