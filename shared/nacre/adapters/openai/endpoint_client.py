"""The HTTP client for an endpoint, with the proxies and authorities of the settings."""

import contextlib

import openai

from nacre.adapters.httpx_options import httpx_options
from nacre.http_client.outgoing import Outgoing


class _SelfClosingClient(openai.DefaultHttpxClient):
    """Closes its connections when nobody has it any more, as the SDK's own client does."""

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def endpoint_client(outgoing: Outgoing, base_url: str) -> openai.DefaultHttpxClient:
    """Return a client; raises ConfigurationError for settings that are wrong."""
    return _SelfClosingClient(**httpx_options(outgoing, base_url))
