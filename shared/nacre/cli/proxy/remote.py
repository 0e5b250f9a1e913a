"""What both forms of `nacre proxy --url` begin with: the remote server and what decides."""

from collections.abc import Callable

from nacre.cli.proxy.options import ProxyOptions
from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.core.limits import REMOTE_SECONDS
from nacre.core.logs import Log, log_at
from nacre.firewall.proxy.upstream.address import parse_address, parse_headers
from nacre.firewall.proxy.upstream.upstream_client import Upstream
from nacre.firewall.proxy.url_name import name_of_url
from nacre.wiring.environment import variable
from nacre.wiring.features.proxy import ProxyParts, open_proxy
from nacre.wiring.settings import Settings
from nacre.wiring.this_machine import at_host, with_bases


def settings_of(options: ProxyOptions) -> Settings:
    """Return the settings, with what the options say instead."""
    settings = Settings.from_environment()
    return settings._replace(
        data_folder=options.data_dir or settings.data_folder,
        policy_file=options.policy or settings.policy_file,
    )


def upstream_of(options: ProxyOptions) -> Upstream:
    """Return the remote server; raises InvalidInputError or ConfigurationError."""
    url = options.url or _required("--url-env", options.url_env)
    seconds = _seconds(options.timeout)
    return Upstream(parse_address(url), headers=_headers(options), seconds=seconds)


def open_before(upstream: Upstream, options: ProxyOptions, settings: Settings) -> ProxyParts:
    """Return what decides about the conversations with a remote server."""
    address = upstream.address
    name = options.name or name_of_url(address.authority, address.path)
    where = with_bases(at_host(address.host), options.base)
    return open_proxy(settings, name, where=where)


def sayer(settings: Settings) -> Callable[[str], None]:
    """Return what tells the proxy's owner something, on standard error."""
    log: Log = log_at(settings.log_level)
    return lambda said: log.write("warning", "proxy", said=said)


def _headers(options: ProxyOptions) -> tuple[tuple[str, str], ...]:
    given = list(options.header)
    for text in options.header_env:
        name, _, source = text.partition("=")
        _required(f"--header-env {name}", source)
        given.append(f"{name}=${{{source}}}")
    if options.bearer_env:
        _required("--bearer-env", options.bearer_env)
        given.append(f"authorization=Bearer ${{{options.bearer_env}}}")
    return parse_headers(given, variable)


def _required(option: str, name: str) -> str:
    if not name.isidentifier():
        raise InvalidInputError(f"{option}: give the name of an environment variable")
    value = variable(name)
    if value is None or not value.strip():
        raise ConfigurationError(f"{option}: the environment variable {name} is not set")
    return value.strip()


def _seconds(given: str) -> float:
    if not given:
        return REMOTE_SECONDS
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 86_400:
        raise InvalidInputError("--timeout: give seconds, such as 60")
    return seconds
