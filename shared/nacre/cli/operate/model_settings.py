"""What the settings say of the language model and of the policy, for status and doctor."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from nacre.cli.being_options import Place
from nacre.cli.finding import Finding
from nacre.core.errors import NacreError
from nacre.wiring.home import Home
from nacre.wiring.settings import Settings

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
_TIMEOUT_SECONDS = 2
_NO_KEY = "set NACRE_LLM_API_KEY, or run: nacre llm-key set"


def model_line(settings: Settings) -> str:
    """Return which model answers, where, and whether a key is there for all Beings."""
    from nacre.wiring.features.models import provider

    base_url, name = provider(settings.llm_api_key.reveal(), settings)
    key = "with a key" if settings.llm_api_key else "no key set for all Beings"
    return f"{name} at {base_url} ({key})"


def policy_line(home: Home, place: Place, being_id: str) -> str:
    """Return which policy counts for a Being: a file, a pushed document, or the built-in one."""
    from nacre.wiring.features.policies import policies_in

    try:
        settings = Settings.from_environment()
        policies = policies_in(home.data, settings, _unheard, is_stack=bool(place.stack))
        found = policies.of(being_id)
    except NacreError as error:
        return f"cannot be read: {error}"
    scope = "its own" if found.scope == being_id else found.scope
    return f"{scope}, version {found.version}" if found.version else scope


def check_model(*, has_own_keys: bool) -> Iterator[Finding]:
    """Look at the settings of the model that carries out orders."""
    settings = Settings.from_environment()
    told = model_line(settings)
    if not settings.llm_api_key and not has_own_keys:
        found = f"{told}; orders cannot be carried out, patrols work by rules"
        yield Finding("language model", "warn", found, _NO_KEY)
        return
    parts = urlsplit(settings.llm_base_url)
    if parts.hostname in _LOOPBACK and not _answers(parts.hostname or "", parts.port or 80):
        found = f"nobody answers at {settings.llm_base_url}"
        advice = "start the model's server, or correct NACRE_LLM_BASE_URL"
        yield Finding("language model", "warn", found, advice)
        return
    yield Finding("language model", "ok", told)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host.strip("[]"), port), _TIMEOUT_SECONDS):
            return True
    except OSError:
        return False


def _unheard(_said: str) -> None:
    return
