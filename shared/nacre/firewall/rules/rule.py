"""The values of a policy: the subject of a decision, a rule, and a decision."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from nacre.core.lazy_dataclasses import dataclass, replace

Action = Literal["allow", "deny", "prompt"]
Kind = Literal["tool", "method"]
Scalar = str | int | float | bool

Matcher = Literal["every_address", "one_command", "one_statement"]

ACTIONS: tuple[Action, ...] = ("allow", "deny", "prompt")
NO_PATHS: frozenset[str] = frozenset()
NOTHING: frozenset[str] = frozenset()  # received before a call


class Subject(NamedTuple):  # built for each call; a dataclass takes five times as long
    """One call: a tool with its arguments, or another method with its parameters.

    `server` is the name from our own configuration, never the one that the server claims.
    Numbers among the arguments may be `arguments.JsonNumber`, which keeps the text that
    was received. `paths` are the arguments that the tool's schema declares as paths.
    `received` are the origins of what the caller has received before, as `received_origins`
    writes them, None if nobody knows.
    """

    kind: Kind
    name: str
    server: str
    arguments: Mapping[str, Any]
    paths: frozenset[str] = NO_PATHS
    received: frozenset[str] | None = None

    @property
    def qualified(self) -> str:
        """The name that clients of a gateway see."""
        return f"mcp__{self.server}__{self.name}"


class Surroundings(NamedTuple):  # hashed for each call
    """The facts about a server's machine that a path depends on.

    `bases` are all folders from which the server resolves relative paths, as its owner
    declared them; all are absolute. Without them a relative path has no known meaning,
    unless the owner declares that the server opens no files. `home` replaces `~`. Links are
    followed only for a server on this machine. `folds_case` is for file systems that
    ignore case, on macOS and Windows. `follow` is a faster way to follow the links of a
    path; if it returns None, the general way is used.
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
    """One `args.…` of a rule: the place of an argument, and the values that match.

    The last key may be `*`: every value below that place. One of `values` is enough; a
    text is a glob, a number or a truth value is compared with its type. With a `matcher`
    the globs apply to the addresses, the command or the verb that it reads from the value.
    An `optional` argument may be missing. `ignores_case` applies to the globs.
    """

    keys: tuple[str, ...]
    values: tuple[Scalar, ...]
    matcher: Matcher | None = None
    optional: bool = False
    ignores_case: bool = False

    @property
    def globs(self) -> list[str]:
        """The values that are globs."""
        return [value for value in self.values if isinstance(value, str)]

    @property
    def path(self) -> str:
        """The place as a policy file writes it."""
        return ".".join(("args", *(_quoted(key) for key in self.keys)))


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `origin` names it in the file: `rule 3`, `allowed_tools 1`.

    With `only`, it matches only calls that have no other arguments than these. With `tainted` it
    matches only callers that have received results of external servers, or none of them, and
    with `received` only those that have received something of one of these origins. With a
    `window`, in hours, that counts which any client of the Being has received so recently.
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
    tainted: bool | None = None
    received: tuple[str, ...] = ()
    window: int | None = None

    @property
    def is_unconditional(self) -> bool:
        """True if the rule matches every call of its name."""
        return not self.tests and self.only is None and not self.reads_origins

    @property
    def reads_origins(self) -> bool:
        """True if the rule depends on what its caller has received before."""
        return self.tainted is not None or bool(self.received)

    def for_every_caller(self) -> "Rule":
        """Return the same rule without its words about what the caller has received."""
        return replace(self, tainted=None, received=(), window=None)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a call. `rule` is None if no rule matched; then the call is denied.

    `text` is shown to the caller.
    """

    action: Action
    rule: int | None
    description: str | None
    text: str


def _quoted(key: str) -> str:
    plain = key.replace("_", "").replace("-", "")
    return key if plain.isascii() and plain.isalnum() else f'"{key}"'
