"""The site that passkeys belong to: its host name and origin."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from fastapi import Request

from nacre.access.signin.webauthn import Site
from nacre.core.errors import ForbiddenError
from nacre.web.portal_parts import base_url

_PORTS = {"http": 80, "https": 443}


def passkey_site(request: Request) -> Site | None:
    """Return the site, or None if browsers refuse passkeys: an IP address, or no TLS."""
    parts = urlsplit(base_url(request).lower())
    host, scheme = parts.hostname or "", parts.scheme
    is_local = host == "localhost" or host.endswith(".localhost")
    if _is_address(host) or not (scheme == "https" or is_local):
        return None
    port = "" if parts.port in (None, _PORTS.get(scheme)) else f":{parts.port}"
    return Site(host, f"{scheme}://{host}{port}")


def require_passkey_site(request: Request) -> Site:
    """Return the site; raises ForbiddenError if browsers refuse passkeys there."""
    site = passkey_site(request)
    if site is None:
        raise ForbiddenError(
            "browsers accept passkeys only for a host name over HTTPS, or for localhost"
        )
    return site


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
