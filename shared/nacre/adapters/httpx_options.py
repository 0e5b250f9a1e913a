"""The options of httpx, for clients of vendors that bring it, which connect as Nacre does."""

from functools import lru_cache
from typing import Any

import httpx

from nacre.http_client.address import parse_address
from nacre.http_client.certificates import tls_context
from nacre.http_client.outgoing import Outgoing

_shared_tls = lru_cache(maxsize=2)(tls_context)  # it takes milliseconds to make


def httpx_options(outgoing: Outgoing, url: str) -> dict[str, Any]:
    """Return the options of a client for requests to one server; raises ConfigurationError.

    httpx itself would send requests to this machine through a proxy too.
    """
    tls = _shared_tls(outgoing.ca_file)
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
