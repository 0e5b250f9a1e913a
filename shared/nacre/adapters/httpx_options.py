"""The options of httpx, for clients of vendors that bring it, which connect as Nacre does."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import httpx

from nacre.http_client.address import parse_address
from nacre.http_client.certificates import add_authorities
from nacre.http_client.outgoing import Outgoing

if TYPE_CHECKING:
    import ssl


def httpx_options(outgoing: Outgoing, url: str) -> dict[str, Any]:
    """Return the options of a client for requests to one server; raises ConfigurationError.

    httpx itself would send requests to this machine through a proxy too.
    """
    tls = _tls(outgoing.ca_file)
    options: dict[str, Any] = {"trust_env": False, "verify": tls}
    proxy = outgoing.proxies.route(parse_address(url))
    if proxy is not None:
        scheme = "https" if proxy.is_tls else "http"
        has_credentials = bool(proxy.user or proxy.password)
        options["proxy"] = httpx.Proxy(
            f"{scheme}://{proxy.authority}",
            auth=(proxy.user, proxy.password) if has_credentials else None,
            ssl_context=tls if proxy.is_tls else None,
        )
    return options


@lru_cache(maxsize=2)
def _tls(ca_file: str) -> "ssl.SSLContext":
    context = httpx.create_ssl_context()
    add_authorities(context, ca_file)
    return context
