"""The words of a policy: what is decided about, a rule, and a decision."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Action = Literal["allow", "deny", "prompt"]
Kind = Literal["tool", "method"]
Wanted = str | int | float | bool

Matcher = Literal["every_address", "one_command", "one_statement"]

ACTIONS: tuple[Action, ...] = ("allow", "deny", "prompt")


NO_PATHS: frozenset[str] = frozenset()


class Subject(NamedTuple):  # made for each call, in a fifth of the time
    """One call: a tool with its arguments, or another method with its parameters.

    `server` is the name that our own configuration gives it, never the one it tells
    about itself. Numbers among the arguments may be `arguments.JsonNumber`, which keeps
    the text that was received. `paths` are the arguments of which the tool's schema says
    that they are paths.
    """

    kind: Kind
    name: str
    server: str
    arguments: Mapping[str, Any]
    paths: frozenset[str] = NO_PATHS

    @property
    def qualified(self) -> str:
        """The name that clients of a gateway see."""
        return f"mcp__{self.server}__{self.name}"


class Surroundings(NamedTuple):  # hashed for each call
    """The facts about a server's machine that give a path its meaning.

    `bases` are all folders from which the server resolves relative paths, absolute and as
    its owner declared them; without them nobody knows what a relative path means, unless
    the owner says that the server opens no files. `home` is what `~` means. Links are
    followed only for a server on this machine. `folds_case` is for file systems that do
    not tell `A` from `a`: macOS and Windows. `follow` follows the links of a path faster
    than the usual way; None from it means that this has to be used.
    """

    is_local: bool = False
    home: str | None = None
    bases: tuple[str, ...] = ()
    folds_case: bool = False
    follow: Callable[[str], str | None] | None = None
    opens_files: bool = True


NOWHERE = Surroundings()


@dataclass(frozen=True, slots=True)
class ArgumentTest:
    """One `args.…` of a rule: where the argument stands, and what it may be.

    The last key may be `*`: every value below that place. One of `wanted` is enough;
    a text is a glob, a number or a truth value is compared with its type. With a `matcher`
    the globs are about the addresses, the command or the verb that it finds in the value.
    An `optional` argument may be missing. `ignores_case` is for the globs.
    """

    keys: tuple[str, ...]
    wanted: tuple[Wanted, ...]
    matcher: Matcher | None = None
    optional: bool = False
    ignores_case: bool = False

    @property
    def path(self) -> str:
        """The place as a policy file spells it."""
        return ".".join(("args", *(_quoted(key) for key in self.keys)))


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; `origin` is how a person finds it: `rule 3`, `allowed_tools 1`.

    With `only`, it is about calls that have no argument besides these.
    """

    number: int
    action: Action
    name: str
    kind: Kind | None = None
    server: str | None = None
    tests: tuple[ArgumentTest, ...] = ()
    description: str | None = None
    origin: str = ""
    only: tuple[str, ...] | None = None

    @property
    def is_unconditional(self) -> bool:
        """Whether it is about every call of its name."""
        return not self.tests and self.only is None


@dataclass(frozen=True, slots=True)
class Decision:
    """What happens to a call. `rule` is None where no rule matched: then it is denied.

    `text` is what the caller is told.
    """

    action: Action
    rule: int | None
    description: str | None
    text: str


def _quoted(key: str) -> str:
    plain = key.replace("_", "").replace("-", "")
    return key if plain.isascii() and plain.isalnum() else f'"{key}"'
