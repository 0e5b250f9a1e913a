"""The name of a remote server that nobody named: where it is."""

import re

from nacre.core.limits import MAX_NAME_LENGTH

_UNFIT = re.compile(r"[^A-Za-z0-9_.-]+")
_USUAL = re.compile(r"/(?:mcp|sse)/?$")


def name_of_url(authority: str, path: str) -> str:
    """Return the name that an address gives a server, in letters that rules can be written with.

    It is the host, with the port where it is not the usual one, and the path unless that says
    no more than the protocol: `https://example.com/notes/mcp` is `example.com-notes`. Two
    addresses have two names, because the tools of each are known by its name.
    """
    place = f"{authority}{_USUAL.sub('', path)}"
    return _UNFIT.sub("-", place).strip("-.")[:MAX_NAME_LENGTH] or "server"
