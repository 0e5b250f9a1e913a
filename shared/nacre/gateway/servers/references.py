"""References to values stored elsewhere: `${NAME}`, `${NAME:-else}`, `${secret:NAME}`, `ssm:NAME`.

A configuration holds references. Their values are looked up when a server is opened, and not
stored.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

from nacre.core.errors import ConfigurationError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.content.secrets import names_secret, redact_text
from nacre.firewall.rules.sections import SecretsSection
from nacre.gateway.servers.config import ServerConfig
from nacre.http_client.certificates import ClientCertificate

_REFERENCE = re.compile(r"\$\{(?:(env|secret|ssm):)?([A-Za-z_][A-Za-z0-9_.-]*)(?::-([^}]*))?\}")
_WHOLE = re.compile(r"ssm:([A-Za-z][A-Za-z0-9_.-]{0,63})")
_SECRET_HEADERS = re.compile(r"authorization|api[-_]?key|token|secret|cookie", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class References:
    """The sources of values; `environment` is None on a stack, which has no variables."""

    secret: Callable[[str], str | None]
    environment: Mapping[str, str] | None = None

    def filled(self, text: str) -> str:
        """Return the text with its references replaced; raises ConfigurationError."""
        parameter = _WHOLE.fullmatch(text)
        if parameter is not None:
            return self._secret(parameter[1])
        return _REFERENCE.sub(self._value, text)

    def _value(self, reference: re.Match[str]) -> str:
        kind, name, default = reference[1], reference[2], reference[3]
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


def client_certificate(config: ServerConfig, references: References) -> ClientCertificate | None:
    """Return the certificate to show a server, if it is to see one; raises ConfigurationError."""
    if not config.client_cert:
        return None
    filled = references.filled
    return ClientCertificate(filled(config.client_cert), filled(config.client_key))


def holds_secret(name: str, value: str) -> bool:
    """Tell whether a header or variable holds a credential in plain text, by its name."""
    if not _SECRET_HEADERS.search(name):
        return False
    return not has_reference(value)


def has_reference(value: str) -> bool:
    """Tell whether a value contains a reference."""
    return bool(_REFERENCE.search(value) or _WHOLE.fullmatch(value))


def written_secret(config: ServerConfig) -> str | None:
    """Return the name of a value that looks like a credential, or None."""
    client_secret = ("client_secret", config.oauth.client_secret)
    for name, value in (*config.headers.items(), *config.env.items(), client_secret):
        if value and holds_secret(name, value):
            return name
    for name, value in (*parse_qsl(urlsplit(config.url).query), *_options(config.args)):
        if names_secret(name) and not has_reference(value):
            return name
    if "-----BEGIN" in config.client_key or "PRIVATE KEY" in config.client_cert:
        return "client_key"
    for name, texts in (("url", (config.url,)), ("args", config.args)):
        if any(redact_text(text, SecretsSection())[1] for text in texts):
            return name
    return None


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the named values of a command line: `--name value` and `name=value`."""
    for previous, argument in pairwise(["", *arguments]):
        name, equals, value = argument.partition("=")
        if equals:
            yield name.lstrip("-"), value
        elif previous.startswith("-") and not argument.startswith("-"):
            yield previous.lstrip("-"), argument
