"""A browser that follows redirects, for authorization servers that let everybody in."""

import urllib.error
import urllib.request
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_REDIRECTS = (302, 303, 307)


class _Staying(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def answer_of(url: str, redirect_uri: str) -> dict[str, str]:
    """Open an address, and return the answer with which the browser is sent back."""
    browser = urllib.request.build_opener(_Staying)
    for _ in range(5):
        if url.startswith(redirect_uri):
            return dict(parse_qsl(urlsplit(url).query))
        try:
            page = browser.open(url, timeout=60)
        except urllib.error.HTTPError as error:
            with error:
                if error.code not in _REDIRECTS:
                    raise AssertionError(error.read()[:500]) from error
                url = str(error.headers["location"])
        else:
            with page:
                raise AssertionError(page.read()[:500])
    raise AssertionError(url)
