"""Credentials that a server's configuration holds written out, where references belong."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from urllib.parse import parse_qsl, urlsplit

from nacre.firewall.content.secrets import names_secret, redact_text
from nacre.firewall.rules.sections import SecretsSection
from nacre.gateway.servers.config import ServerConfig
from nacre.gateway.servers.references import has_reference, holds_secret


def written_secret(config: ServerConfig) -> str | None:
    """Return what looks like a credential, by its name; None where nothing does."""
    for name, value in (*config.headers.items(), *config.env.items()):
        if holds_secret(name, value):
            return name
    for name, value in (*parse_qsl(urlsplit(config.url).query), *_options(config.args)):
        if names_secret(name) and not has_reference(value):
            return name
    for what, texts in (("url", (config.url,)), ("args", config.args)):
        if any(redact_text(text, SecretsSection())[1] for text in texts):
            return what
    return None


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what a command line gives names to: `--name value` and `name=value`."""
    for before, word in pairwise(["", *arguments]):
        name, equals, value = word.partition("=")
        if equals:
            yield name.lstrip("-"), value
        elif before.startswith("-") and not word.startswith("-"):
            yield before.lstrip("-"), word
