"""Clients that log in at the URL of a profile."""

from collections.abc import Iterator

import pytest

from nacre.access.tokens.token_format import digest
from tests.scaffolding.oauth import (
    asking,
    challenge_of,
    code_for,
    connected,
    consent,
    exchange,
    register,
    renew,
    tokens_of,
    told,
)
from tests.scaffolding.web_site import Browser, Site, site

pytestmark = pytest.mark.security
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture
def place() -> Iterator[Site]:
    with site("laptop") as made:
        yield made


def row(place: Site, token: str) -> tuple[object, object]:
    found = place.authority.tokens.lookup(digest(token))
    assert found is not None
    return found.get("profile"), found.get("resource")


def test_a_client_is_led_to_the_metadata_of_its_profile_whether_or_not_there_is_one(
    place: Site,
) -> None:
    for name in ("home", "nobody"):
        refused = place.post_json(f"/mcp/{name}", LIST)
        document = f"{place.base}/.well-known/oauth-protected-resource/mcp/{name}"
        described = place.get(document.removeprefix(place.base))

        assert refused.status == 401
        assert f'resource_metadata="{document}"' in challenge_of(refused)
        assert described.json["resource"] == f"{place.base}/mcp/{name}"
    assert place.get("/.well-known/oauth-protected-resource/mcp/Home").status == 404


def test_its_tokens_are_bound_to_the_profile_and_stay_bound(place: Site) -> None:
    resource = f"{place.base}/mcp/home"
    browser = Browser(place)
    browser.sign_in()
    client_id = register(place)["client_id"]
    page = browser.get(asking(place, client_id, resource=resource))
    code = code_for(browser, client_id, resource=resource)
    first = tokens_of(exchange(place, client_id, code, resource=resource))
    second = tokens_of(renew(place, client_id, first.refresh))
    [grant] = place.authority.grants.of_owner("me")

    assert "only what is in the profile <strong>home</strong>" in page.text
    assert row(place, first.access) == ("home", resource)
    assert row(place, second.access) == ("home", resource)
    assert grant.profile == "home"


def test_a_bound_login_cannot_become_another_one(place: Site) -> None:
    resource = f"{place.base}/mcp/home"
    browser = Browser(place)
    browser.sign_in()
    client_id = register(place)["client_id"]
    code = code_for(browser, client_id, resource=resource)
    elsewhere = exchange(place, client_id, code, resource=f"{place.base}/mcp")
    again = code_for(browser, client_id, resource=resource)
    tokens = tokens_of(exchange(place, client_id, again))
    for other in ("/mcp", "/mcp/work", f"/mcp/{place.being}"):
        answer = renew(place, client_id, tokens.refresh, resource=f"{place.base}{other}")
        assert (answer.status, answer.json["error"]) == (400, "invalid_target")

    assert (elsewhere.status, elsewhere.json["error"]) == (400, "invalid_target")


def test_a_login_without_a_profile_is_bound_to_none(place: Site) -> None:
    _, tokens = connected(place)

    assert row(place, tokens.access) == (None, f"{place.base}/mcp")


@pytest.mark.parametrize(
    "name", ["Home", "home/work", "home?x=1", "home%2fwork", "-home", "h" * 33]
)
def test_a_resource_that_is_nearly_a_profile_is_refused(place: Site, name: str) -> None:
    browser = Browser(place)
    browser.sign_in()
    client_id = register(place)["client_id"]

    answer = browser.get(asking(place, client_id, resource=f"{place.base}/mcp/{name}"))

    assert told(answer)["error"] == "invalid_target"


def test_a_denied_request_says_nothing_of_profiles(place: Site) -> None:
    browser = Browser(place)
    browser.sign_in()
    client_id = register(place)["client_id"]
    target = asking(place, client_id, resource=f"{place.base}/mcp/home")

    assert told(consent(browser, target, decision="deny"))["error"] == "access_denied"
