"""A running server, attacked over its socket by the browser and the calls of the other tests."""

import json
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

from tests.cli.processes import finish, start
from tests.scaffolding.web_site import Answer, Browser, Site

_SECONDS = 60


class Wire:
    """Sends requests to a server as `Site` does to one without a socket."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._address = urlsplit(base).netloc

    def send(
        self, method: str, target: str, *, body: bytes = b"", headers: Mapping[str, str] = {}
    ) -> Answer:
        """Send a request, and return its answer."""
        with closing(HTTPConnection(self._address, timeout=_SECONDS)) as connection:
            connection.request(method, target, body, dict(headers))
            response = connection.getresponse()
            pairs = tuple((name.lower(), value) for name, value in response.getheaders())
            return Answer(response.status, pairs, response.read())

    def get(self, target: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Ask for a page."""
        return self.send("GET", target, headers=headers or {})

    def post_form(
        self, target: str, fields: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a form."""
        kind = {"content-type": "application/x-www-form-urlencoded", **(headers or {})}
        return self.send("POST", target, body=urlencode(fields).encode(), headers=kind)

    def post_json(
        self, target: str, value: Any, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a message, or bytes that may be none."""
        kind = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.send("POST", target, body=body, headers={**kind, **(headers or {})})

    def site(self) -> Site:
        """Return the same for what asks a site for no more than to send requests."""
        return cast("Site", self)

    def browser(self) -> Browser:
        """Return a browser that looks at this server."""
        return Browser(self.site())


def link(base: str, folder: Path) -> str:
    """Return a sign-in link's secret for the laptop server over this folder."""
    code, out, err = finish(start("owner", "bootstrap", "--url", base, "--data-dir", str(folder)))
    assert code == 0, err
    return out.strip().rpartition("#")[2]
