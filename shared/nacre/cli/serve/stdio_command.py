"""The command `nacre mcp-server`: MCP over standard input and output.

A client waits for this process, so its few options are parsed without click, and only the
modules that the first answers need are imported.
"""

import gc
import signal
import sys

from nacre import __version__
from nacre.access.owners import DEFAULT_OWNER
from nacre.cli.exit_codes import INTERRUPTED, OK, exit_code, tell
from nacre.core.errors import InvalidInputError, NacreError

TYPE_CHECKING = False

HELP = """\
Usage: nacre mcp-server [OPTIONS]

  Run an MCP server over standard input and output, for one client.

Options:
  -v, --verbose    Log every request and answer to standard error, without content.
  --only-order     Show the tool that takes orders, and nothing else.
  --name NAME      Name of that tool: order_NAME. [default: the Being's]
  --being NAME     The Being, by name or id. [default: the only one]
  --profile NAME   Serve only what is in this profile of the policy.
  --data-dir PATH  Data folder. [default: NACRE_HOME or the user's]
  --owner NAME     Whose Being. [default: me]
  --version        Print the version and exit.
  -h, --help       Show this message and exit.
"""
_VALUED = {
    "--being": "being",
    "--data-dir": "data_dir",
    "--owner": "owner",
    "--name": "name",
    "--profile": "profile",
}


def run(arguments: list[str]) -> int:
    """Serve until the input ends, and return the exit code."""
    gc.disable()  # imported modules stay: collecting during the start would find nothing
    try:
        flags, values = _parse(arguments)
        if "help" in flags:
            sys.stdout.write(HELP)
            return OK
        if "version" in flags:
            sys.stdout.write(f"nacre {__version__}\n")
            return OK
        _serve(values, verbose="verbose" in flags, only_order="only-order" in flags)
    except NacreError as error:
        tell(str(error))
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        gc.enable()
    return OK


def _serve(values: dict[str, str], *, verbose: bool, only_order: bool) -> None:
    from nacre.cli.serve.on_demand_worker import OnDemandWorker
    from nacre.core.lazy_dataclasses import replace
    from nacre.core.logs import Log
    from nacre.core.names import checked_order_name
    from nacre.faces.stdio.interruptible_input import interruptible
    from nacre.faces.stdio.stdio_server import serve_stdio
    from nacre.protocol.principal import FULL, Principal
    from nacre.protocol.surface import part_of
    from nacre.wiring.laptop import first_being, open_laptop
    from nacre.wiring.settings import Settings, unknown_settings

    if sys.stdin is None or sys.stdout is None:
        raise InvalidInputError(
            "standard input or output is closed; start mcp-server from a client, with both open"
        )
    settings = Settings.from_environment()
    order_name = checked_order_name(values["name"]) if "name" in values else ""
    laptop = open_laptop(
        values.get("data_dir") or settings.data_folder, settings, order_name=order_name
    )
    application = laptop.application
    if only_order:
        from nacre.being.orders.order_only_surface import OrderOnlySurface

        application = replace(application, surface=OrderOnlySurface(application.surface))
    try:
        owner = laptop.owners.get(values.get("owner", DEFAULT_OWNER)).name
        if "being" not in values:
            first_being(laptop, owner)
        being = laptop.beings.choose(values.get("being"), owner=owner)
        # Anyone who can start this process can also use the command line.
        profile = values.get("profile", "")
        if "profile" in values and not profile:  # such as a variable that is not set
            raise InvalidInputError("--profile names no profile; leave it out to serve everything")
        principal = Principal(
            subject="local", being_id=being.being_id, profile=profile, scopes=FULL
        )
        part_of(application.surface, principal)  # an unknown profile ends the command
        # A stray print must not reach the client.
        output, sys.stdout = sys.stdout.buffer, sys.stderr
        signal.signal(signal.SIGTERM, _end)
        log = Log("debug" if verbose else "warning")
        for warning in unknown_settings():
            log.write("warning", "settings", said=warning)
        worker = OnDemandWorker(laptop, log)
        gc.freeze()
        gc.enable()
        try:
            with interruptible(sys.stdin.buffer) as stdin:
                serve_stdio(
                    application,
                    principal=principal,
                    stdin=stdin,
                    stdout=output,
                    log=log,
                )
        finally:
            worker.end()
    finally:
        laptop.close()


def _end(_signal: int, _frame: object) -> None:
    sys.exit(OK)


def _parse(arguments: list[str]) -> tuple[set[str], dict[str, str]]:
    flags: set[str] = set()
    values: dict[str, str] = {}
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, value = argument.partition("=")
        if name in _VALUED:
            text = value if equals else next(remaining, None)
            if text is None:
                raise InvalidInputError(f"{name} needs a value; see 'nacre mcp-server --help'")
            values[_VALUED[name]] = text
        elif argument in ("-v", "--verbose"):
            flags.add("verbose")
        elif argument == "--only-order":
            flags.add("only-order")
        elif argument in ("-h", "--help"):
            flags.add("help")
        elif argument == "--version":
            flags.add("version")
        else:
            raise InvalidInputError(f"no such option: {argument}; see 'nacre mcp-server --help'")
    return flags, values
