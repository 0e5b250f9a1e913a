"""The command line of a proxy: written into a client's entry, and recognised there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nacre.firewall.wrap.base_folder import proposed_base, with_certain

_FLAGS = frozenset({"--pass-authorization"})
_KEPT = ("--data-dir", "--policy", "--base", "--timeout")


@dataclass(frozen=True, slots=True)
class Launcher:
    """Our own program, as a client can start it, and what each proxy is told.

    `bases` are the folders that the owner declares for the servers; `home` is the folder
    that `~` means to them.
    """

    program: tuple[str, ...]
    options: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    home: str = ""

    def pairs(self) -> list[tuple[str, str]]:
        """Return the options with their values."""
        return list(zip(self.options[::2], self.options[1::2], strict=True))

    def declared(self) -> tuple[str, ...]:
        """Return the bases that the owner declares, now or in an earlier command line."""
        return self.bases or tuple(value for name, value in self.pairs() if name == "--base")

    def like(self, proxy: "Proxied") -> "Launcher":
        """Return this launcher, with what it leaves open taken from another proxy."""
        told = {name for name, _ in self.pairs()} | ({"--base"} if self.bases else set())
        kept = [pair for pair in proxy.options if pair[0] in _KEPT and pair[0] not in told]
        words = tuple(word for pair in kept for word in pair)
        return replace(self, options=words + self.options)

    def line(self, name: str, rest: Sequence[str]) -> list[str]:
        """Return the command line of a proxy."""
        bases = [word for each in self.bases for word in ("--base", each)]
        return [*self.program, "proxy", "--name", name, *self.options, *bases, *rest]

    def for_server(self, line: Sequence[str], cwd: str) -> "Launcher":
        """Return this launcher with the bases that a server's command line shows for certain."""
        if "--base" in self.options:
            return self
        proposed = proposed_base(line, cwd, self.home)
        if self.bases:
            return replace(self, bases=with_certain(self.bases, proposed, self.home)[0])
        return replace(self, bases=proposed.folders) if proposed.is_certain else self


@dataclass(frozen=True, slots=True)
class Proxied:
    """A proxy's command line, taken apart; `inner` is the real server's, where it has one."""

    program: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    inner: tuple[str, ...] | None

    def all(self, option: str) -> list[str]:
        """Return every value of an option."""
        return [value for name, value in self.options if name == option]

    def first(self, option: str) -> str:
        """Return the first value of an option, or nothing."""
        return next(iter(self.all(option)), "")


def read_line(line: Sequence[str]) -> Proxied | None:
    """Take a command line apart; None where it is not a proxy's."""
    at = program_length(line)
    if at == 0 or list(line[at : at + 1]) != ["proxy"]:
        return None
    options: list[tuple[str, str]] = []
    rest = at + 1
    while rest < len(line) and line[rest] != "--":
        name, equals, value = line[rest].partition("=")
        if not equals and name not in _FLAGS:
            rest += 1
            value = line[rest] if rest < len(line) else ""
        options.append((name, value))
        rest += 1
    inner = tuple(line[rest + 1 :]) if rest < len(line) else None
    return Proxied(tuple(line[:at]), tuple(options), inner)


def program_length(line: Sequence[str]) -> int:
    """Return how many words of a command line are our program; 0 where it is another one."""
    program = re.split(r"[/\\]", line[0])[-1].lower() if line else ""
    if program in {"nacre", "nacre.exe"}:
        return 1
    return 3 if tuple(line[1:3]) == ("-m", "nacre.cli") else 0
