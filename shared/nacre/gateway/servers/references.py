"""Values that are kept elsewhere: `${NAME}`, `${NAME:-else}`, `${secret:NAME}`, `ssm:NAME`.

A configuration holds references; what they stand for is looked up when a server is opened,
and kept nowhere.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from nacre.core.errors import ConfigurationError

_REFERENCE = re.compile(r"\$\{(?:(env|secret|ssm):)?([A-Za-z_][A-Za-z0-9_.-]*)(?::-([^}]*))?\}")
_WHOLE = re.compile(r"ssm:([A-Za-z][A-Za-z0-9_.-]{0,63})")
_SECRET_HEADERS = re.compile(r"authorization|api[-_]?key|token|secret|cookie", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class References:
    """Where values come from; `environment` is None where there is none to read."""

    secret: Callable[[str], str | None]
    environment: Mapping[str, str] | None = None

    def filled(self, text: str) -> str:
        """Return the text with its references replaced; ConfigurationError for one unset."""
        whole = _WHOLE.fullmatch(text)
        if whole is not None:
            return self._secret(whole[1])
        return _REFERENCE.sub(self._value, text)

    def _value(self, found: re.Match[str]) -> str:
        kind, name, default = found[1], found[2], found[3]
        if kind in ("secret", "ssm"):
            return self._secret(name)
        if self.environment is None:
            raise ConfigurationError(
                f"${{{name}}} names a variable, which a stack does not have; keep the value with "
                f"'nacre secret set {name} --stack STACK' and write ${{secret:{name}}}"
            )
        value = self.environment.get(name) or default
        if value is None:
            raise ConfigurationError(f"the variable {name} is not set")
        return value

    def _secret(self, name: str) -> str:
        value = self.secret(name)
        if value is None:
            raise ConfigurationError(
                f"the secret {name} is not set; set it with 'nacre secret set {name}'"
            )
        return value


def holds_secret(name: str, value: str) -> bool:
    """Tell whether a header or variable that looks like a credential is written out."""
    if not _SECRET_HEADERS.search(name):
        return False
    return not has_reference(value)


def has_reference(value: str) -> bool:
    """Tell whether something of a value is kept elsewhere."""
    return bool(_REFERENCE.search(value) or _WHOLE.fullmatch(value))
