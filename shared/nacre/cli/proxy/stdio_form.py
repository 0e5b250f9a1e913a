"""`nacre proxy -- COMMAND`: a proxy before a server on standard input and output."""

import sys

from nacre.cli.exit_codes import tell
from nacre.cli.proxy.options import ProxyOptions


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
    settings = options.settings()
    name = options.name or name_of_command(options.command)
    bases = options.base and with_command_bases(options.base, options.command, str(Path.cwd()))
    where = with_bases(on_this_machine(), bases)
    parts = open_proxy(settings, name, where=where)
    try:
        server = ServerProcess(options.command)
        try:
            code = proxy_stdio(parts.new_guard(), server, look=parts.look)
        finally:
            server.release()
    except NoServerError as error:
        tell(str(error))
        return error.code
    finally:
        parts.close()
    return end_like(code)
