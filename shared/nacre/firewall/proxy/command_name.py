"""The name of a server that nobody named: what its command line runs."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from nacre.core.limits import MAX_NAME_LENGTH

# Programs that run other programs, and their words that say how.
_RUNNERS = re.compile(
    r"(?:npx|bunx|bun|node|deno|npm|pnpm|yarn|uvx|uv|pipx|env|nice|docker|podman"
    r"|python[0-9.]*|pypy[0-9.]*|py|cmd)$"
)
_WORDS = frozenset({"run", "exec", "dlx", "x", "tool", "/c", "/C"})
# Options that no value follows; a word behind another one may be its value.
_FLAGS = frozenset({"-m", "-y", "--yes", "--", "-u", "-i", "-it", "--rm", "-A", "-I"})
# Files that are called alike in every package.
_EVERYWHERE = frozenset(
    {"index", "main", "__main__", "server", "cli", "app", "dist", "build", "src"}
)
_ENDING = re.compile(r"\.(?:exe|cmd|bat|py|js|mjs|cjs|ts|sh)$", re.IGNORECASE)
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")


def name_of(command: Sequence[str]) -> str:
    """Return the name that a command gives a server, in letters that rules can be written with.

    It is the program, or what a runner such as npx, uvx or python runs, without folder,
    version and file ending: `npx -y @scope/server-files@1.2 /data` is `server-files`.
    """
    chosen = next((word for word in _candidates(command) if _plain(word)), command[0])
    return _plain(chosen)[:MAX_NAME_LENGTH] or "server"


def _candidates(command: Sequence[str]) -> Iterator[str]:
    """Yield the words that may say what is run, the likely first."""
    is_run = True
    for before, word in pairwise(["", *command]):
        program = _ENDING.sub("", _last(word)).casefold()
        if before.startswith("-") and before not in _FLAGS:
            continue
        if word.startswith("-") or "=" in word.partition("==")[0] or word in _WORDS:
            continue
        if is_run and _RUNNERS.match(program):
            continue
        is_run = False
        yield word


def _plain(word: str) -> str:
    parts = [part for part in re.split(r"[/\\]", word) if part]
    found = ""
    for part in reversed(parts):
        found = _UNFIT.sub("-", _ENDING.sub("", _package(part))).strip("-.")
        if found and found.casefold() not in _EVERYWHERE:
            return found
    return found


def _package(part: str) -> str:
    """Return a package's name without its version: `a@1`, `a==1`, `a[b]`, `a:tag`."""
    return re.split(r"(?<=.)[@:\[=<>~]", part, maxsplit=1)[0]


def _last(word: str) -> str:
    return re.split(r"[/\\]", word)[-1]
