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
from pathlib import Path
from types import FrameType
from typing import Any

import click
import uvicorn

from nacre.access.scopes import SCOPES_BY_NAME
from nacre.cli.being_options import Place, being_options
from nacre.cli.program_state import installed_program
from nacre.cli.serve import container
from nacre.cli.serve.listening import BACKLOG, bind, fences, is_loopback, url_of
from nacre.cli.serve.on_demand_worker import log_job
from nacre.cli.serve.readiness import tell_manager
from nacre.cli.serve.terminal_log import terminal_log
from nacre.cli.wrap.client_config import (
    command_to_type,
    link_command,
    stdio_command,
    token_command,
    welcome,
)
from nacre.core.errors import InvalidInputError
from nacre.core.limits import API_TOKEN_DAYS, DRAIN_SECONDS, KEEP_ALIVE_SECONDS
from nacre.core.logs import Level, Log, RareLog, log_at, where
from nacre.core.names import BEING_NAMES, checked_name
from nacre.core.token_prefixes import API
from nacre.faces.evaluator.evaluation import Evaluator
from nacre.faces.evaluator.evaluator_route import policy_endpoint
from nacre.faces.http.http_limits import BoundedProtocol
from nacre.faces.http.laptop_server import asgi_app
from nacre.faces.mcp_endpoint import bearer_admission, called_address
from nacre.faces.task_errors import TaskRules
from nacre.jobs.loop import WorkerLoop
from nacre.protocol.changes import Changes
from nacre.protocol.http.allowed_origins import Fences
from nacre.protocol.http.asgi import AsgiApp
from nacre.protocol.http.connection_limit import Crowd, connections_within_descriptors
from nacre.web.lazy_app import LateApp
from nacre.wiring.compose import Home
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.features.policies import policies_of
from nacre.wiring.laptop import first_being, open_laptop
from nacre.wiring.server_registry import registered_server
from nacre.wiring.settings import Settings, unknown_settings

HOST = "127.0.0.1"
PORT = 8642
_SHOWN_BEINGS = 8  # so that a start shows at most fifteen lines
_GLANCE_SECONDS = 0.1  # how often a second interrupt is checked


@click.command()
@click.option("--host", help=f"Address to listen on. [default: {HOST}]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Port to listen on; 0 selects a free one. [default: {PORT}]",
)
@click.option(
    "--log", "as_json", is_flag=True, help="Write a JSON line for each event to standard error."
)
@click.option(
    "--quiet", is_flag=True, help="Show nothing, and create no token and no link to sign in."
)
@click.option(
    "--container",
    "in_container",
    is_flag=True,
    help=f"As --log --quiet --host {container.HOST} --port {container.PORT}, for a container: serve"
    " the stack that NACRE_STACK names, or a data folder on a volume.",
)
@being_options
def serve(
    host: str | None,
    port: int | None,
    *,
    as_json: bool,
    quiet: bool,
    in_container: bool,
    place: Place,
) -> None:
    """Run the server on this machine.

    The first start creates a Being and shows its token once. Clients that can log in need no
    token: give them the URL without the Being. Each start shows a link that signs you in once,
    within one hour. Several servers may share a data folder.
    """
    settings = Settings.from_environment()
    if in_container:
        stack = place.stack or ("" if place.data_dir else settings.stack)
        address = (host or container.HOST, container.PORT if port is None else port)
        if stack:
            _serve_stack(stack, *address, settings)
            return
        container.require_volume(place.folder())
        as_json = quiet = True
        host, port = address
    if place.stack:
        raise InvalidInputError("serve runs on this machine; a stack has its own URL")
    host, port = host or HOST, PORT if port is None else port
    if not (quiet or (Path(place.folder()) / DATABASE).exists()):
        click.echo(f"Setting up {place.folder()} for the first start.", err=True)
    laptop = open_laptop(place.folder(), settings)
    try:
        laptop.owners.get(place.owner_name)
        if not (in_container or is_loopback(host)):
            _warn(host)
        with bind(host, port) as listener:
            url = url_of(host, listener, settings)
            _show(laptop, place, url, quiet=quiet)
            log = log_at(settings.log_level) if as_json else terminal_log()
            changes = Changes(laptop.application.surface)
            app = _app(
                laptop, place, host, settings, log, changes, is_forced=lambda: server.force_exit
            )
            if in_container:
                app = container.container_app(app)
            server = _server(app, log, settings, stopping=changes.close)
            program = installed_program().as_text()
            with registered_server(Path(laptop.ports.where), url, program):
                log.write("info", "serving", url=url, folder=laptop.ports.where)
                _warn_of_unknown_settings(log)
                server.run(sockets=[listener])
            log.write("info", "stopped")
    finally:
        laptop.close()


def _serve_stack(stack: str, host: str, port: int, settings: Settings) -> None:
    """Serve the Beings of a stack on AWS; its functions do the background work and the login."""
    from nacre.wiring.aws import open_stack

    home = open_stack(stack, settings, "server")
    try:
        with bind(host, port) as listener:
            log = log_at(settings.log_level)
            changes = Changes(home.application.surface)
            app = stack_app(home, host, settings, log, changes)
            server = _server(app, log, settings, stopping=changes.close)
            log.write("info", "serving", url=url_of(host, listener, settings), stack=stack)
            _warn_of_unknown_settings(log)
            server.run(sockets=[listener])
        log.write("info", "stopped")
    finally:
        home.close()


def _warn_of_unknown_settings(log: Log) -> None:
    for warning in unknown_settings():
        log.write("warning", "settings", said=warning)


def stack_app(home: Home, host: str, settings: Settings, log: Log, changes: Changes) -> AsgiApp:
    """Return the MCP endpoint of a stack's Beings, for a container."""
    base = called_address(settings.public_url, scheme="http")
    return container.container_app(
        asgi_app(
            home.application,
            admit=bearer_admission(home.gate, base),
            fences=fences(host, settings),
            log=log,
            base=base,
            changes=changes,
        )
    )


def _app(
    laptop: Home,
    place: Place,
    host: str,
    settings: Settings,
    log: Log,
    changes: Changes,
    *,
    is_forced: Callable[[], bool],
) -> AsgiApp:
    base = called_address(settings.public_url, scheme="http")

    @asynccontextmanager
    async def working() -> AsyncIterator[None]:
        loop = laptop.worker_loop(
            lambda outcome: log_job(log, outcome, success="info"), TaskRules(log)
        )
        loop.start()
        try:
            yield
        finally:
            await _stop(loop, is_forced)

    fenced = fences(host, settings)
    policies = policies_of(
        laptop.ports, settings, lambda message: log.write("warning", "policy", said=message)
    )
    elsewhere = policy_endpoint(
        Evaluator(policies, log),
        holder=lambda authorization: laptop.gate.holder(authorization=authorization),
        fences=fenced,
        elsewhere=LateApp(lambda: _portal(laptop, place, fenced, settings, log)),
    )
    return asgi_app(
        laptop.application,
        admit=bearer_admission(laptop.gate, base),
        fences=fenced,
        log=log,
        lifespan=working,
        elsewhere=elsewhere,
        base=base,
        changes=changes,
        reading=laptop.ports.screening,
    )


def _portal(laptop: Home, place: Place, fenced: Fences, settings: Settings, log: Log) -> AsgiApp:
    """Return the web pages; they are loaded at the first request for one."""
    from nacre.console.parts import control_pages, memory_pages
    from nacre.web.portal import portal_app
    from nacre.web.portal_parts import Portal
    from nacre.wiring.console import console_parts, control_parts

    stdio = stdio_command(being="{being}", owner=place.owner_name, folder=Path(laptop.ports.where))
    return portal_app(
        Portal(
            lambda: laptop.authority,
            settings.public_url,
            fenced,
            log,
            takes_documents=bool(settings.public_url),
            link_command=link_command(place.options()),
        ),
        memory_pages(console_parts(laptop, shlex.join(place.options()), stdio)),
        control_pages(control_parts(laptop)),
    )


async def _stop(loop: WorkerLoop, is_forced: Callable[[], bool]) -> None:
    """Wait for running jobs, until the time limit or a second interrupt."""
    time = asyncio.get_running_loop().time
    end = time() + DRAIN_SECONDS
    while not await asyncio.to_thread(loop.stop, _GLANCE_SECONDS):
        if is_forced() or time() >= end:
            return


class _Server(uvicorn.Server):
    """A server with limits for its connections; a second interrupt ends it at once."""

    def __init__(
        self, config: uvicorn.Config, crowd: Crowd, rare: RareLog, stopping: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._crowd = crowd
        self._rare = rare

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, and log errors of the event loop at a limited rate."""
        asyncio.get_running_loop().set_exception_handler(self._log_loop_error)
        await super().startup(sockets)
        if self.started:
            tell_manager()

    async def on_tick(self, counter: int) -> bool:
        """Check the connections every second."""
        if counter % 10 == 0:
            self._crowd.sweep()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End subscriptions, and finish the calls in flight."""
        self._stopping()
        await super().shutdown(sockets)

    def _log_loop_error(self, _loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        # Without a free descriptor the loop reports an error for every waiting connection.
        error = context.get("exception")
        message = str(context.get("message", "a fault of the event loop"))
        if isinstance(error, Exception):
            message = f"{message}: {where(error)}"
        self._rare.write("error", "server", said=message)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal; the second one cuts the connections."""
        super().handle_exit(sig, frame)
        if self.force_exit:
            # Since Python 3.12 a server is closed only when its last connection is closed.
            for connection in list(self.server_state.connections):
                connection.transport.abort()


def _server(
    app: AsgiApp, log: Log, settings: Settings, *, stopping: Callable[[], None]
) -> uvicorn.Server:
    """Return a server that a signal stops after it has finished the running calls.

    `stopping` ends connections that would never end by themselves.
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
            http=connection,  # type: ignore[arg-type] # uvicorn only calls it
            # The loop also tries to accept this often in a row when no descriptor is free.
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            # Only trusted proxies may set the address that attempts are counted by.
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

    # For signals before uvicorn handles them, and after: it raises the signal that stopped it
    # again, but a requested stop is not a failure.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return server


def _show(laptop: Home, place: Place, url: str, *, quiet: bool) -> None:
    """Print the URLs of the Beings and a sign-in link; on the first start create a Being.

    Without a screen nobody would see a token or a link, so none is created.
    """
    owner = place.owner_name
    first = first_being(laptop, owner, ask_name)
    if quiet:
        return
    link = f"{url.removesuffix('/mcp')}{laptop.authority.sign_in.links.make(owner).path}"
    if first is None:
        beings = laptop.beings.of_owner(owner)
        for being in beings[:_SHOWN_BEINGS]:
            click.echo(f"{being.name}: {url}/{being.being_id}")
        if len(beings) > _SHOWN_BEINGS:
            command = command_to_type("being", "list", *place.options())
            click.echo(f"… and {len(beings) - _SHOWN_BEINGS} more, see: {command}")
        name = beings[0].name if len(beings) == 1 else "NAME"
        click.echo(f"To create a token, run: {token_command(name, place.options())}", err=True)
        click.echo(f"\nSign in once: {link}")
        return
    issued = laptop.tokens.issue(
        API,
        being_id=first.being_id,
        owner=owner,
        scopes=SCOPES_BY_NAME["full"],
        lifetime=timedelta(days=API_TOKEN_DAYS),
        label="first start",
    )
    click.echo(
        welcome(
            being=first.name,
            url=f"{url}/{first.being_id}",
            token=issued.token,
            link=link,
            options=place.options(),
        )
    )


def ask_name() -> str:
    """Return the name of the first Being: asked at a terminal, else a proposed one."""
    proposed = BEING_NAMES[0]
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return proposed
    click.echo(
        f"What is the name of your Being? Your agents will read 'You are NAME'. Some names: "
        f"{', '.join(BEING_NAMES)}.",
        err=True,
    )
    return str(click.prompt("Name", default=proposed, value_proc=_being_name, err=True))


def _being_name(text: str) -> str:
    try:
        return checked_name(text, kind="Being's name")
    except InvalidInputError as error:
        raise click.UsageError(str(error)) from None


def _warn(host: str) -> None:
    click.echo(
        f"warning: {host} can be reached from other machines. Whoever has a token may use it, "
        "and the traffic is not encrypted. Put a TLS proxy in front, or use an SSH tunnel and "
        "leave out --host.",
        err=True,
    )


class _JsonLines(logging.Handler):
    """Converts log records of uvicorn to our format."""

    def __init__(self, log: RareLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record without the text of its exception, which may quote a request."""
        error = record.exc_info[1] if record.exc_info else None
        level: Level = "error" if record.levelno >= logging.ERROR else "warning"
        # A message may quote a request; its template cannot.
        text = str(record.msg).strip()
        self._log.write(level, "server", said=f"{text}: {where(error)}" if error else text)
