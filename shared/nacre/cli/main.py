"""The entry point of `nacre`: commands that must start fast skip the imports of the others."""

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["mcp-server"]:
        from nacre.cli.serve.stdio_command import run

        sys.exit(run(arguments[1:]))
    if arguments[:1] == ["hook"]:
        from nacre.cli.hooks.hook_command import run as run_hook

        sys.exit(run_hook(arguments[1:]))
    if arguments[:1] == ["proxy"]:
        from nacre.cli.proxy.proxy_command import run as run_proxy

        sys.exit(run_proxy(arguments[1:]))
    if arguments == ["--version"]:
        from nacre import __version__

        sys.stdout.write(f"nacre {__version__}\n")
        return
    from nacre.cli.commands import run_commands

    sys.exit(run_commands(arguments))
