"""The command `nacre proxy`; each of its forms is imported when it is used."""

import sys

from nacre import __version__
from nacre.cli.exit_codes import INTERRUPTED, OK, exit_code, tell
from nacre.cli.proxy.options import ProxyOptions, parse
from nacre.core.errors import NacreError

HELP = """\
Usage: nacre proxy [OPTIONS] -- COMMAND [ARGUMENTS]...
       nacre proxy [OPTIONS] --url URL
       nacre proxy [OPTIONS] --url URL --listen HOST:PORT

  Stand between a client and an MCP server, and decide every call by your policy.

  With a COMMAND, start the server and relay its standard input and output. With
  a --url, speak standard input and output to the client and HTTP to the server;
  with --listen, be an HTTP server in front of the other one.

Options:
  --name NAME          The server's name in rules, pins and the audit. [default:
                       from the command or the URL]
  --policy FILE        The policy. [default: NACRE_POLICY, or
                       ~/.config/nacre/policy.toml]
  --data-dir PATH      Data folder. [default: NACRE_HOME or the user's]
  --base DIR           A folder from which the server resolves relative paths. Name
                       all of them. May be repeated. [default: not known, so calls
                       with relative paths are asked about]
  --confine            Start the server with no more rights than your rules name:
                       folders, ports, and what its runtime needs. On Linux, by
                       Landlock.
  --connect PORT       With --confine: a TCP port to connect to. May be repeated.
  --read DIR           With --confine: a file or folder to read. May be repeated.
  --write DIR          With --confine: a file or folder to change. May be repeated.
  --run PROGRAM        With --confine: a program that the server starts, such as
                       git. May be repeated.
  --env NAME           With --confine: a variable of the environment that the server
                       gets. May be repeated.
  --accept NAME        With --confine: a gap that may stay open: denies, ports, ioctl
                       or signals. May be repeated.
  --url URL            Where the server is.
  --url-env VARIABLE   The environment variable that holds the URL.
  --listen HOST:PORT   Answer HTTP here, such as 127.0.0.1:8080.
  --transport KIND     http or sse. [default: http, and sse where that fails]
  --header NAME=VALUE  Send this header to the server; ${VARIABLE} in VALUE stands
                       for an environment variable. May be repeated.
  --header-env NAME=VARIABLE
                       Send the variable's value as this header. May be repeated.
  --bearer-env VARIABLE
                       Send the variable's value as a bearer token.
  --client-cert FILE   PEM client certificate, for a server that requires one (mTLS).
  --client-key FILE    Its key, if that is another file.
  --timeout SECONDS    How long the server may be silent. [default: 300]
  --pass-authorization
                       With --listen: forward the client's Authorization header.
  --version            Print the version and exit.
  -h, --help           Show this message and exit.

  With a COMMAND, the exit code is that of the server; 127 means that it was not
  found, and 126 that it cannot be started.
"""


def run(arguments: list[str]) -> int:
    """Run the form that the options select until it ends, and return the exit code."""
    before_command = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "-h" in before_command or "--help" in before_command:
        sys.stdout.write(HELP)
        return OK
    if "--version" in before_command:
        sys.stdout.write(f"nacre {__version__}\n")
        return OK
    try:
        return _run(parse(arguments))
    except NacreError as error:
        tell(str(error))
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(options: ProxyOptions) -> int:
    _warn_of_unknown_settings(options)
    if options.command:
        from nacre.cli.proxy.stdio_form import run as run_command

        return run_command(options)
    if options.listen:
        from nacre.cli.proxy.listen_form import run as run_listen

        return run_listen(options)
    from nacre.cli.proxy.url_form import run as run_url

    return run_url(options)


def _warn_of_unknown_settings(options: ProxyOptions) -> None:
    from nacre.core.logs import Log
    from nacre.wiring.settings import unknown_settings

    for warning in unknown_settings(used=options.variables()):
        Log("warning").write("warning", "settings", said=warning)
