"""The address of this server for its caller, from which issuer and resources get their names."""

import re
from functools import lru_cache

from nacre.protocol.principal import is_profile_name

ENDPOINT = "/mcp"  # as nacre.protocol.http.endpoint_rules serves it

_AUTHORITY = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|\[([0-9a-f:.]{2,45})\])(?::([0-9]{1,5}))?"
)

_LAST_PORT = 65535


@lru_cache(maxsize=64)  # every call asks
def base_of(host: str, *, public_url: str, scheme: str) -> str | None:
    """Return the address without a slash: the public one, or the one that was called.

    None if the Host header is not a name. Its caller has checked whether it is one of ours.
    """
    if public_url:
        return public_url
    authority = host.lower()
    return f"{scheme}://{authority}" if _is_authority(authority) else None


def _is_authority(text: str) -> bool:
    match = _AUTHORITY.fullmatch(text)
    if match is None or int(match[2] or 0) > _LAST_PORT:
        return False
    if match[1] is None:
        return True
    from ipaddress import IPv6Address  # noqa: PLC0415 - most servers are called by a name

    try:
        IPv6Address(match[1])
    except ValueError:
        return False
    return True


def resource_of(base: str, part: str | None = None) -> str:
    """Return the name of the endpoint, or of a part of it, for audiences and metadata.

    A part is the id of a Being or the name of a profile.
    """
    return f"{base}{ENDPOINT}" if part is None else f"{base}{ENDPOINT}/{part}"


def profile_in(resource: str) -> str:
    """Return the profile that a resource of `resource_of` names, "" if it names none."""
    _, endpoint, part = resource.rpartition(f"{ENDPOINT}/")
    return part if endpoint and is_profile_name(part) else ""
