"""The name of a server that its owner did not name, from its command line or its URL."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nacre.core.limits import MAX_NAME_LENGTH

# Programs that run other programs, and their subcommands.
_RUNNERS = re.compile(
    r"(?:npx|bunx|bun|node|deno|npm|pnpm|yarn|uvx|uv|pipx|env|nice|docker|podman"
    r"|python[0-9.]*|pypy[0-9.]*|py|cmd)$"
)
_SUBCOMMANDS = frozenset({"run", "exec", "dlx", "x", "tool", "/c", "/C"})
# Options without a value; an argument behind any other option may be its value.
_FLAGS = frozenset({"-m", "-y", "--yes", "--", "-u", "-i", "-it", "--rm", "-A", "-I"})
# Names of files that many packages have.
_COMMON_FILES = frozenset(
    {"index", "main", "__main__", "server", "cli", "app", "dist", "build", "src"}
)
_EXTENSION = re.compile(r"\.(?:exe|cmd|bat|py|js|mjs|cjs|ts|sh)$", re.IGNORECASE)
_INVALID = re.compile(r"[^A-Za-z0-9_.-]+")
_ENDPOINT = re.compile(r"/(?:mcp|sse)/?$")


def name_of_command(command: Sequence[str]) -> str:
    """Return the name of the program that a command runs, in letters that rules can contain.

    The program is what a runner such as npx, uvx or python runs. Its name has no folder, version
    or extension: `npx -y @scope/server-files@1.2 /data` is `server-files`.
    """
    named = (argument for argument in _candidates(command) if _plain_name(argument))
    program = next(named, command[0])
    return _plain_name(program)[:MAX_NAME_LENGTH] or "server"


def name_of_url(authority: str, path: str) -> str:
    """Return the name of the server at an address, in letters that rules can contain.

    It is the host, the port if it is not the default, and the path without `/mcp` or `/sse`:
    `https://example.com/notes/mcp` is `example.com-notes`. Two addresses have two names, because
    rules know the tools of a server by its name.
    """
    location = f"{authority}{_ENDPOINT.sub('', path)}"
    return _INVALID.sub("-", location).strip("-.")[:MAX_NAME_LENGTH] or "server"


def _candidates(command: Sequence[str]) -> Iterator[str]:
    """Yield the arguments that may be the program, the likely ones first."""
    may_be_runner = True
    for previous, argument in pairwise(["", *command]):
        program = _EXTENSION.sub("", re.split(r"[/\\]", argument)[-1]).casefold()
        if previous.startswith("-") and previous not in _FLAGS:
            continue
        is_assignment = "=" in argument.partition("==")[0]
        if argument.startswith("-") or is_assignment or argument in _SUBCOMMANDS:
            continue
        if may_be_runner and _RUNNERS.match(program):
            continue
        may_be_runner = False
        yield argument


def _plain_name(argument: str) -> str:
    """Return the last part of a path that is not the same in every package."""
    name = ""
    for part in reversed([part for part in re.split(r"[/\\]", argument) if part]):
        name = _INVALID.sub("-", _EXTENSION.sub("", _without_version(part))).strip("-.")
        if name and name.casefold() not in _COMMON_FILES:
            return name
    return name


def _without_version(package: str) -> str:
    """Return a package's name without its version: `a@1`, `a==1`, `a[b]`, `a:tag`."""
    return re.split(r"(?<=.)[@:\[=<>~]", package, maxsplit=1)[0]
