"""The remote server of `nacre proxy --url` and the parts of its proxy, for both forms."""

from collections.abc import Callable

from nacre.cli.proxy.options import ProxyOptions
from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.core.lazy_dataclasses import replace
from nacre.core.limits import REMOTE_SECONDS
from nacre.core.logs import Log, log_at
from nacre.firewall.proxy.server_name import name_of_url
from nacre.firewall.proxy.upstream.remote_server import RemoteServer
from nacre.firewall.proxy.upstream.server_options import parse_headers, parse_url
from nacre.http_client.certificates import ClientCertificate
from nacre.wiring.outgoing import outgoing_of
from nacre.wiring.proxy import ProxyParts, open_proxy
from nacre.wiring.settings import Settings, variable
from nacre.wiring.this_machine import at_host, with_bases


def upstream_of(options: ProxyOptions, settings: Settings) -> RemoteServer:
    """Return the remote server; raise InvalidInputError or ConfigurationError if it is wrong."""
    outgoing = outgoing_of(settings)
    if options.client_cert:
        client = ClientCertificate(options.client_cert, options.client_key)
        outgoing = replace(outgoing, client=client)
        outgoing.tls()  # an error at once, instead of one for each call
    elif options.client_key:
        raise InvalidInputError("--client-key: give --client-cert too, the certificate of the key")
    return RemoteServer(
        parse_url(url_of(options)),
        headers=_headers(options),
        seconds=_seconds(options.timeout),
        outgoing=outgoing,
    )


def open_remote_proxy(
    upstream: RemoteServer, options: ProxyOptions, settings: Settings
) -> ProxyParts:
    """Return the parts of the proxy in front of a remote server."""
    address = upstream.address
    name = options.name or name_of_url(address.authority, address.path)
    where = with_bases(at_host(address.host), options.base)
    parts = open_proxy(settings, name, where=where)
    if not options.pass_authorization:
        upstream.use_login(parts.login(name, url_of(options)))
    return parts


def url_of(options: ProxyOptions) -> str:
    """Return the URL of the remote server."""
    return options.url or _required("--url-env", options.url_env)


def warner(settings: Settings) -> Callable[[str], None]:
    """Return a function that logs a warning to standard error."""
    log: Log = log_at(settings.log_level)
    return lambda text: log.write("warning", "proxy", said=text)


def _headers(options: ProxyOptions) -> tuple[tuple[str, str], ...]:
    headers = list(options.header)
    for text in options.header_env:
        name, _, source = text.partition("=")
        _required(f"--header-env {name}", source)
        headers.append(f"{name}=${{{source}}}")
    if options.bearer_env:
        _required("--bearer-env", options.bearer_env)
        headers.append(f"authorization=Bearer ${{{options.bearer_env}}}")
    return parse_headers(headers, variable)


def _required(option: str, name: str) -> str:
    if not name.isidentifier():
        raise InvalidInputError(f"{option}: give the name of an environment variable")
    value = variable(name)
    if value is None or not value.strip():
        raise ConfigurationError(f"{option}: the environment variable {name} is not set")
    return value.strip()


def _seconds(text: str) -> float:
    if not text:
        return REMOTE_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= 86_400:
        raise InvalidInputError("--timeout: give seconds, such as 60")
    return seconds
