"""`nacre proxy -- COMMAND`: a proxy in front of a server on standard input and output."""

import sys

from nacre.cli.exit_codes import tell
from nacre.cli.proxy.options import ProxyOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.firewall.confine.confined_server import ConfinedStart
    from nacre.firewall.rules.policy import Policy
    from nacre.firewall.rules.rule import Surroundings
    from nacre.wiring.settings import Settings


def run(options: ProxyOptions) -> int:
    """Relay until the server ends, and return its exit code."""
    from pathlib import Path

    from nacre.core.errors import InvalidInputError

    if sys.platform == "win32":
        raise InvalidInputError(
            "servers that a command starts work on Linux and macOS only; "
            "start the server over HTTP and give its --url"
        )
    from nacre.firewall.proxy.server_name import name_of_command
    from nacre.firewall.proxy.stdio.server_process import NoServerError, ServerProcess, end_like
    from nacre.firewall.proxy.stdio.stdio_proxy import proxy_stdio
    from nacre.wiring.proxy import open_proxy
    from nacre.wiring.this_machine import on_this_machine, with_bases, with_command_bases

    if sys.stdin is None or sys.stdout is None:
        raise InvalidInputError(
            "standard input or output is closed; start the proxy from a client, with both open"
        )
    if options.confine:
        _check_variables()
    settings = options.settings()
    name = options.name or name_of_command(options.command)
    bases = options.base and with_command_bases(options.base, options.command, str(Path.cwd()))
    where = with_bases(on_this_machine(), bases)
    parts = open_proxy(settings, name, where=where)
    start = None
    try:
        if options.confine:
            start = _confined_start(options, name, where, settings, parts.policy())
            server = ServerProcess(
                start.command,
                environment=start.environment,
                stderr=start.stderr,
                descriptors=start.descriptors,
            )
            start.release()
        else:
            server = ServerProcess(options.command)
        try:
            code = proxy_stdio(parts.new_guard(), server, look=parts.look)
        finally:
            server.release()
    except NoServerError as error:
        tell(str(error))
        return error.code
    finally:
        if start is not None:
            start.close()
        parts.close()
    return end_like(code)


def _check_variables() -> None:
    import os

    from nacre.core.errors import InvalidInputError
    from nacre.core.loading_variables import loading_variable

    if name := loading_variable(os.environ):  # noqa: TID251 - names alone
        raise InvalidInputError(
            f"'{name}' acts on the proxy too, which is not confined: a server could put code where "
            f"it leads; start the proxy without it, as with 'env -u {name} nacre proxy'"
        )


def _confined_start(
    options: ProxyOptions,
    name: str,
    where: "Surroundings",
    settings: "Settings",
    policy: "Policy",
) -> "ConfinedStart":
    from nacre.firewall.confine.confined_server import OwnerGrants
    from nacre.wiring.features.confine import confined_start, ports_in

    grants = OwnerGrants(
        connect=ports_in(options.connect),
        read=options.read,
        write=options.write,
        run=options.run,
        env=options.env,
        accept=options.accept,
    )
    return confined_start(settings, policy, name, options.command, where, grants)
