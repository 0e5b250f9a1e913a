"""The commands, each imported when it is called."""

import importlib
import os
import re
import sys

import click

from nacre import __version__
from nacre.cli.being_options import Place, placed
from nacre.cli.exit_codes import EXIT_CODES, FAILURE, INTERRUPTED, OK, exit_code, tell
from nacre.core.errors import LeaseHeldError, NacreError

COMMANDS = {
    "serve": "Run the server on this machine.",
    "mcp-server": "Run an MCP server over standard input and output.",
    "wrap": "Put the policy in front of servers that clients already use.",
    "unwrap": "Let clients start their servers themselves again.",
    "proxy": "Stand between a client and an MCP server, and decide every call.",
    "being": "Create, rename and list Beings.",
    "token": "Create, list and revoke tokens.",
    "client": "List and delete connected clients.",
    "secret": "Set, list and unset secrets.",
    "llm-key": "Set or clear the key that a Being's orders and patrols use.",
    "owner": "Add and list owners, and let one sign in.",
    "server": "Serve the tools of other MCP servers too.",
    "policy": "Write, test and put in force the rules that decide every call.",
    "approvals": "See and decide which calls wait for your word.",
    "approve": "Show what SERVER offers that is new or has changed, and trust it.",
    "audit": "Read, check and copy the record of what was decided.",
    "status": "Show what is here and which credentials are set.",
    "sessions": "List, show and delete the sessions that orders have left.",
    "chat": "Talk to a Being from this terminal.",
    "dlq": "See the background work that was given up, and queue it again.",
    "reindex": "Check, repair or change the index that memories are searched in.",
    "patrol": "Turn scenes into memories, and see what patrols did.",
    "export": "Write all that a Being keeps to FILE.",
    "import": "Take FILE into a Being.",
    "backup": "Write all that this machine keeps to FILE, while a server goes on.",
    "restore": "Make a data folder of FILE, which 'nacre backup' wrote.",
    "forget": "Erase memories, messages or a whole Being.",
    "doctor": "Check that everything works, and say what to do where it does not.",
}

_MODULES = {
    "serve": "nacre.cli.serve.serve",
    "mcp-server": "nacre.cli.serve.mcp_server",
    "wrap": "nacre.cli.wrap.wrap",
    "unwrap": "nacre.cli.wrap.unwrap",
    "proxy": "nacre.cli.proxy.proxy",
    "being": "nacre.cli.access.being",
    "token": "nacre.cli.access.token",
    "client": "nacre.cli.access.client",
    "secret": "nacre.cli.access.secret",
    "llm-key": "nacre.cli.access.llm_key",
    "owner": "nacre.cli.access.owner",
    "server": "nacre.cli.servers.server",
    "policy": "nacre.cli.policy.policy",
    "approvals": "nacre.cli.policy.approvals",
    "approve": "nacre.cli.policy.approve",
    "audit": "nacre.cli.policy.audit",
    "status": "nacre.cli.operate.status",
    "sessions": "nacre.cli.orders.sessions",
    "chat": "nacre.cli.orders.chat",
    "dlq": "nacre.cli.operate.dlq",
    "reindex": "nacre.cli.memory.reindex",
    "patrol": "nacre.cli.memory.patrol",
    "export": "nacre.cli.memory.export",
    "import": "nacre.cli.memory.import_file",
    "backup": "nacre.cli.operate.backup",
    "restore": "nacre.cli.operate.restore",
    "forget": "nacre.cli.memory.forget",
    "doctor": "nacre.cli.operate.doctor",
}


class LazyCommands(click.Group):
    """A group that imports the module of a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        module = _MODULES[cmd_name]
        name = module.rpartition(".")[2]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _exit_codes() -> str:
    lines = "\n".join(f"{code:>5}  {meaning}" for code, meaning in EXIT_CODES.items())
    return f"\b\nExit codes:\n{lines}"


@click.group(
    cls=LazyCommands,
    epilog=_exit_codes(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="nacre %(version)s")
@placed
@click.pass_context
def commands(context: click.Context, place: Place) -> None:
    """One MCP URL per AI agent, with a memory, a voice and a policy gate of its own."""
    context.obj = place


def run_commands(arguments: list[str]) -> int:
    """Run a command line and return its exit code; expected errors are told in plain lines."""
    try:
        outcome = commands.main(arguments, prog_name="nacre", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        problem = " ".join(error.format_message().split()).rstrip(".")
        tell(f"{problem}{_meant(error)}; see '{_help_command(error)}'")
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("\n")
        return INTERRUPTED
    except LeaseHeldError as error:
        tell(
            "another process is at work on this Being; try again in"
            f" {error.seconds:.0f} s at most, when also what a process that was killed held is free"
        )
        return exit_code(error)
    except NacreError as error:
        tell(str(error))
        return exit_code(error)
    except OSError as error:
        # What is left in the buffer must not fail once more when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        tell(f"the answer cannot be written ({error.strerror}); write it to another place")
        return FAILURE
    return outcome if isinstance(outcome, int) else OK


def _meant(error: click.ClickException) -> str:
    """Return which command was meant, where a group does not know the one that was given."""
    context = getattr(error, "ctx", None)
    group = context.command if context else None
    given = re.search(r"No such command '(.*)'", error.format_message())
    if given is None or context is None or not isinstance(group, click.Group):
        return ""
    import difflib

    close = difflib.get_close_matches(given[1], group.list_commands(context), 1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _help_command(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'nacre'} --help"
