"""The commands, each imported when it is called."""

import os
import re
import sys

import click

from nacre import __version__
from nacre.cli.being_options import Place, being_options
from nacre.cli.command_kinds import LazyGroup
from nacre.cli.exit_codes import EXIT_CODES, FAILURE, INTERRUPTED, OK, exit_code, tell
from nacre.core.errors import LeaseHeldError, NacreError

COMMANDS = {
    "serve": ("serve.serve:serve", "Run the server on this machine."),
    "mcp-server": (
        "serve.mcp_server:mcp_server",
        "Run an MCP server over standard input and output.",
    ),
    "service": ("service.service:service", "Start the server with this machine."),
    "connect": (
        "wrap.connect:connect",
        "Put Nacre into the configuration of your clients.",
    ),
    "disconnect": (
        "wrap.connect:disconnect",
        "Take Nacre out of the configuration of your clients.",
    ),
    "hook": (
        "hooks.hook:hook",
        "Answer EVENT of a client, whose JSON is on standard input.",
    ),
    "capture": (
        "capture.capture:capture",
        "Allow, pause and limit the capture of conversations by the hooks of clients.",
    ),
    "wrap": ("wrap.wrap:wrap", "Put the policy in front of servers that clients already use."),
    "unwrap": ("wrap.unwrap:unwrap", "Let clients start their servers without Nacre again."),
    "proxy": (
        "proxy.proxy:proxy",
        "Stand between a client and an MCP server, and decide every call.",
    ),
    "being": ("access.being:being", "Create, rename and list Beings."),
    "token": ("access.token:token", "Create, list and revoke tokens."),
    "client": ("access.client:client", "List and delete connected clients."),
    "secret": ("access.secret:secret", "Set, list and unset secrets."),
    "llm-key": ("access.llm_key:llm_key", "Set or clear a Being's API key for a language model."),
    "owner": ("access.owner:owner", "Add and list owners, and create links to sign in."),
    "server": ("servers.server:server", "Add other MCP servers, and serve their tools too."),
    "policy": ("policy.policy:policy", "Write, test and publish the rules that decide every call."),
    "approvals": (
        "policy.approvals:approvals",
        "List the calls that wait for approval, and allow or deny them.",
    ),
    "approve": (
        "policy.changed_tools:approve",
        "Review new and changed tools of SERVER, and trust them.",
    ),
    "audit": ("policy.audit:audit", "Read, verify and export the audit log of decisions."),
    "status": ("operate.status:status", "Show the Beings, and which credentials are set."),
    "sessions": ("orders.sessions:sessions", "List, show and delete the sessions of orders."),
    "chat": ("orders.chat:chat", "Talk to a Being from this terminal."),
    "dlq": ("operate.dlq:dlq", "List failed background jobs, and queue them again."),
    "reindex": ("memory.reindex:reindex", "Check, repair or rebuild the search index of memories."),
    "eval": (
        "memory.evaluate:evaluate",
        "Keep questions, and show what a change of settings does to their answers.",
    ),
    "patrol": ("memory.patrol:patrol", "Turn scenes into memories, and show what patrols did."),
    "export": ("memory.export:export", "Write everything that a Being keeps to FILE."),
    "mirror": (
        "memory.mirror:mirror",
        "Keep a Being as Markdown files in FOLDER, and apply your edits to it.",
    ),
    "import": (
        "memory.import_file:import_file",
        "Import an export, conversations or a memory of another program into a Being.",
    ),
    "backup": (
        "operate.backup:backup",
        "Write everything that this machine keeps to FILE, even while a server runs.",
    ),
    "restore": (
        "operate.restore:restore",
        "Create a data folder from FILE, which 'nacre backup' wrote.",
    ),
    "recall": (
        "memory.recall:recall",
        "Show what a Being recalls for MESSAGE, now or as of a past time.",
    ),
    "vouch": ("memory.vouch:vouch", "Vouch for the text of a memory, whoever reported it."),
    "why": (
        "memory.why:why",
        "Trace a memory or a call back to messages, results and runs.",
    ),
    "forget": ("memory.forget:forget", "Erase memories, messages or a whole Being."),
    "doctor": ("operate.doctor:doctor", "Find problems, and show how to fix them."),
}


def _exit_codes() -> str:
    lines = "\n".join(f"{code:>5}  {meaning}" for code, meaning in EXIT_CODES.items())
    return f"\b\nExit codes:\n{lines}"


@click.group(
    cls=LazyGroup,
    members=COMMANDS,
    epilog=_exit_codes(),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="nacre %(version)s")
@being_options
@click.pass_context
def commands(context: click.Context, place: Place) -> None:
    """One MCP URL per AI agent, with its own memory, voice and policy gate."""
    context.obj = place


def run_commands(arguments: list[str]) -> int:
    """Run a command line and return its exit code; expected errors are printed as plain lines."""
    try:
        outcome = commands.main(arguments, prog_name="nacre", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        problem = " ".join(error.format_message().split()).rstrip(".")
        tell(f"{problem}{_suggestion(error)}; see '{_help_command(error)}'")
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("\n")
        return INTERRUPTED
    except LeaseHeldError as error:
        tell(
            "another process is using this Being; try again in"
            f" {error.seconds:.0f} s at most, when the lock of a killed process has expired too"
        )
        return exit_code(error)
    except NacreError as error:
        tell(str(error))
        return exit_code(error)
    except OSError as error:
        # The rest of the buffer must not fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        tell(f"the output cannot be written ({error.strerror}); write it to another file or device")
        return FAILURE
    return outcome if isinstance(outcome, int) else OK


def _suggestion(error: click.ClickException) -> str:
    """Return a suggestion for an unknown command, or an empty text."""
    context = getattr(error, "ctx", None)
    group = context.command if context else None
    unknown = re.search(r"No such command '(.*)'", error.format_message())
    if unknown is None or context is None or not isinstance(group, click.Group):
        return ""
    import difflib

    close = difflib.get_close_matches(unknown[1], group.list_commands(context), 1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def _help_command(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'nacre'} --help"
