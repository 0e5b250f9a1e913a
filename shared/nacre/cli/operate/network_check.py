"""The check of doctor about connections to other machines: proxies and authorities."""

from collections.abc import Iterator

from nacre.cli.operate.finding import Finding
from nacre.http_client.address import Address
from nacre.wiring.outgoing import outgoing_of
from nacre.wiring.settings import Settings

_ANYWHERE = "anywhere.invalid"


def check_network() -> Iterator[Finding]:
    """Check the settings of the network, if there are any; raises ConfigurationError."""
    outgoing = outgoing_of(Settings.from_environment())
    for scheme, port in (("https", 443), ("http", 80)):
        proxy = outgoing.proxies.route(Address(scheme == "https", _ANYWHERE, port, "/"))
        if proxy is not None:
            exceptions = outgoing.proxies.exceptions
            but = f", but for {exceptions[:200]}" if exceptions else ""
            line = f"{scheme} goes through the proxy {proxy.authority}{but}"
            yield Finding("network", "ok", line)
    if outgoing.ca_file:
        outgoing.tls()
        yield Finding("network", "ok", f"the authorities in {outgoing.ca_file} are trusted too")
