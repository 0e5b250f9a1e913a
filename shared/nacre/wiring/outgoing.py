"""The settings of a deployment for connections to other machines."""

from nacre.http_client.outgoing import Outgoing
from nacre.http_client.proxies import Proxies
from nacre.wiring.settings import Settings


def outgoing_of(settings: Settings) -> Outgoing:
    """Return the proxies and the authorities of the settings."""
    every = settings.all_proxy
    proxies = Proxies(
        (settings.https_proxy or every).reveal(),
        (settings.http_proxy or every).reveal(),
        settings.no_proxy,
    )
    return Outgoing(proxies, settings.ca_file)
