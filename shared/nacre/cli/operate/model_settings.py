"""Lines about the language model and the policy, for status and doctor."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from nacre.cli.being_options import Place
from nacre.cli.operate.finding import Finding
from nacre.core.errors import NacreError
from nacre.wiring.compose import Home
from nacre.wiring.settings import Settings

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "::1")
_TIMEOUT_SECONDS = 2
_NO_KEY = "set NACRE_LLM_API_KEY, or run: nacre llm-key set"


def model_line(settings: Settings) -> str:
    """Return one line with the model, its URL, and whether a key is set for all Beings."""
    from nacre.wiring.features.models import provider

    base_url, name = provider(settings.llm_api_key.reveal(), settings)
    key = "with a key" if settings.llm_api_key else "no key set for all Beings"
    return f"{name} at {base_url} ({key})"


def policy_line(home: Home, place: Place, being_id: str) -> str:
    """Return one line with the policy in force for a Being."""
    from nacre.wiring.features.policies import policies_of

    try:
        settings = Settings.from_environment()
        policies = policies_of(home.ports, settings, lambda _text: None)
        policy = policies.of(being_id)
    except NacreError as error:
        return f"cannot be read: {error}"
    scope = "its own" if policy.scope == being_id else policy.scope
    return f"{scope}, version {policy.version}" if policy.version else scope


def check_model(*, has_own_keys: bool) -> Iterator[Finding]:
    """Check the settings of the model for orders."""
    settings = Settings.from_environment()
    line = model_line(settings)
    if not settings.llm_api_key and not has_own_keys:
        problem = f"{line}; orders do not work, and patrols work by rules"
        yield Finding("language model", "warn", problem, _NO_KEY)
        return
    parts = urlsplit(settings.llm_base_url)
    if parts.hostname in _LOOPBACK and not _answers(parts.hostname or "", parts.port or 80):
        problem = f"no server answers at {settings.llm_base_url}"
        advice = "start the model's server, or correct NACRE_LLM_BASE_URL"
        yield Finding("language model", "warn", problem, advice)
        return
    yield Finding("language model", "ok", line)


def _answers(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host.strip("[]"), port), _TIMEOUT_SECONDS):
            return True
    except OSError:
        return False
