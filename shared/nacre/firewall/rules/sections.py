"""The sections of a policy other than its rules: injection, secrets and settings."""

import re

from nacre.core.lazy_dataclasses import dataclass

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Literal

    InjectionAction = Literal["deny", "prompt", "redact", "off"]
    SecretsAction = Literal["redact", "deny", "off"]
    Mode = Literal["enforce", "monitor"]
    DenyStyle = Literal["result", "error"]
    Approving = Literal["user", "operator"]
    Pinning = Literal["quarantine", "record", "off"]
    Source = Literal["sampling", "result", "definition", "elicitation"]
else:
    # Every hook of a client loads this module, and `typing` would be a tenth of its time.
    InjectionAction = SecretsAction = Mode = DenyStyle = Approving = Pinning = Source = str

SOURCES: tuple[Source, ...] = ("sampling", "result", "definition", "elicitation")


@dataclass(frozen=True, slots=True)
class NamedPattern:
    """A regular expression of the policy's owner, under the name that findings carry."""

    name: str
    text: str

    def compiled(self) -> re.Pattern[str]:
        """Return the compiled pattern; the loader has checked that it compiles."""
        return re.compile(self.text)


@dataclass(frozen=True, slots=True)
class InjectionSection:
    """The handling of text that tries to instruct a model.

    `without` names built-in rules that are switched off.
    """

    action: InjectionAction = "deny"
    sources: tuple[Source, ...] = ("sampling", "definition", "elicitation")
    builtin: bool = True
    without: tuple[str, ...] = ()
    patterns: tuple[NamedPattern, ...] = ()


@dataclass(frozen=True, slots=True)
class SecretsSection:
    """The handling of keys and passwords in results; the audit never holds them.

    `cards` and `ibans` also redact payment cards (by Luhn) and bank accounts (by checksum).
    """

    action: SecretsAction = "redact"
    builtin: bool = True
    cards: bool = False
    ibans: bool = False
    without: tuple[str, ...] = ()
    patterns: tuple[NamedPattern, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of enforcement.

    A call that needs approval waits for `wait_seconds`. Then it is denied, and its ticket can
    still be allowed until `approval_seconds` after the question.
    """

    mode: Mode = "enforce"
    deny_style: DenyStyle = "result"
    approver: Approving = "user"
    approval_seconds: int = 600
    pins: Pinning = "quarantine"
    wait_seconds: int = 25
