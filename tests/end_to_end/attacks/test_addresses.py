"""Attempts are counted by the network address that the connection has, whatever it says."""

import pytest

from nacre.core.limits import SIGN_IN_ATTEMPTS
from tests.cli.processes import serving
from tests.end_to_end.attacks.rows import attack
from tests.end_to_end.attacks.wire import Wire
from tests.scaffolding.web_site import Browser, Site

CLAIMS = ("x-forwarded-for", "forwarded", "x-real-ip", "cf-connecting-ip", "true-client-ip")


def tries(browser: Browser, count: int) -> list[int]:
    """Try wrong secrets, each as if from another address, and return the statuses."""
    statuses = []
    for number in range(count):
        address = f"198.51.100.{number}"
        claims = {name: f"for={address}" if name == "forwarded" else address for name in CLAIMS}
        page = browser.get("/sign-in")
        fields = {"secret": "bos_" + "0" * 49}
        form = {**_fields(page.text), **fields}
        statuses.append(browser.post("/sign-in", form, **claims).status)
    return statuses


def _fields(page: str) -> dict[str, str]:
    return {"csrf": page.partition('name="csrf" value="')[2].partition('"')[0], "then": "/"}


@attack("N24")
def test_a_header_changes_no_address(place: Site) -> None:
    found = tries(Browser(place), SIGN_IN_ATTEMPTS + 2)

    assert found == [401] * SIGN_IN_ATTEMPTS + [429, 429]


@attack("N24")
@pytest.mark.slow
def test_nor_does_it_for_the_server_as_it_is_started() -> None:
    with serving() as server:
        wire = Wire(server.url.removesuffix("/mcp"))

        assert tries(wire.browser(), SIGN_IN_ATTEMPTS + 1) == [401] * SIGN_IN_ATTEMPTS + [429]
