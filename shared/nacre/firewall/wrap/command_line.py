"""The command line of a proxy: how it is written into a client's entry and read back."""

import re
from collections.abc import Mapping, Sequence

from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass, field, replace
from nacre.firewall.rules.arguments.proposed_base import proposed_base, with_certain

CONFINE = "--confine"
_FLAGS = frozenset({"--pass-authorization", CONFINE})
_CONFINED = ("--connect", "--read", "--write", "--run", "--env", "--accept")
_INHERITED = ("--data-dir", "--policy", "--base", "--timeout", *_CONFINED)


@dataclass(frozen=True, slots=True)
class Launcher:
    """The program that clients start as a proxy, and the options that each proxy gets.

    `bases` are the folders that the owner declares for the servers; `home` is the folder
    that `~` stands for. `starts_programs` is False where the proxy can only call a URL. With
    `confines`, servers get no more rights than rules name, except the programs in `refused`, which
    cannot be confined, each with the reason.
    """

    program: tuple[str, ...]
    options: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    home: str = ""
    starts_programs: bool = True
    confines: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)

    def pairs(self) -> list[tuple[str, str]]:
        """Return the options with their values."""
        return list(zip(self.options[::2], self.options[1::2], strict=True))

    def declared_bases(self) -> tuple[str, ...]:
        """Return the bases that the owner declares now, or declared in an earlier command line."""
        return self.bases or tuple(value for name, value in self.pairs() if name == "--base")

    def with_options_of(self, proxy: "ProxyCommand") -> "Launcher":
        """Return this launcher, with missing options taken from an earlier proxy."""
        present = {name for name, _ in self.pairs()} | ({"--base"} if self.bases else set())
        missing = [
            pair for pair in proxy.options if pair[0] in _INHERITED and pair[0] not in present
        ]
        words = tuple(text for pair in missing for text in pair)
        confines = self.confines or proxy.confines
        return replace(self, options=words + self.options, confines=confines)

    def proxy_line(self, name: str, target: Sequence[str]) -> list[str]:
        """Return the command line of a proxy."""
        bases = [text for base in self.bases for text in ("--base", base)]
        confine = [CONFINE] if self.confines else []
        return [*self.program, "proxy", "--name", name, *self.options, *bases, *confine, *target]

    def with_variables(self, names: Sequence[str]) -> "Launcher":
        """Return this launcher, giving a confined server the variables of its entry."""
        if not self.confines:
            return self
        present = {value for option, value in self.pairs() if option == "--env"}
        words = [text for name in names if name not in present for text in ("--env", name)]
        return replace(self, options=(*self.options, *words))

    def check(self, line: Sequence[str]) -> None:
        """Raise InvalidInputError if the server of a command line is to be confined and cannot."""
        program = re.split(r"[/\\]", line[0])[-1]
        if self.confines and program in self.refused:
            raise InvalidInputError(f"{program} cannot be confined: {self.refused[program]}")

    def for_server(self, line: Sequence[str], cwd: str) -> "Launcher":
        """Return this launcher with the bases that are certain from a server's command line."""
        if "--base" in self.options:
            return self
        proposed = proposed_base(line, cwd, self.home)
        if self.bases:
            return replace(self, bases=with_certain(self.bases, proposed, self.home)[0])
        return replace(self, bases=proposed.folders) if proposed.is_certain else self


@dataclass(frozen=True, slots=True)
class ProxyCommand:
    """The parts of a proxy's command line; `inner` is the server's own command, if it has one."""

    program: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    inner: tuple[str, ...] | None

    @property
    def confines(self) -> bool:
        """Tell whether the server is confined."""
        return any(name == CONFINE for name, _ in self.options)

    def all(self, option: str) -> list[str]:
        """Return every value of an option."""
        return [value for name, value in self.options if name == option]

    def first(self, option: str) -> str:
        """Return the first value of an option, or an empty text."""
        return next(iter(self.all(option)), "")


def parse_proxy(line: Sequence[str]) -> ProxyCommand | None:
    """Return the parts of a proxy's command line, or None if it is another program's."""
    at = program_length(line)
    if at == 0 or list(line[at : at + 1]) != ["proxy"]:
        return None
    options: list[tuple[str, str]] = []
    position = at + 1
    while position < len(line) and line[position] != "--":
        name, equals, value = line[position].partition("=")
        if not equals and name not in _FLAGS:
            position += 1
            value = line[position] if position < len(line) else ""
        options.append((name, value))
        position += 1
    inner = tuple(line[position + 1 :]) if position < len(line) else None
    return ProxyCommand(tuple(line[:at]), tuple(options), inner)


def program_length(line: Sequence[str]) -> int:
    """Return the number of words that start Nacre; 0 if the line starts another program."""
    program = re.split(r"[/\\]", line[0])[-1].lower() if line else ""
    if program in {"nacre", "nacre.exe"}:
        return 1
    for words in (("-P", "-m", "nacre.cli"), ("-m", "nacre.cli")):
        if tuple(line[1 : 1 + len(words)]) == words:
            return 1 + len(words)
    return 0
