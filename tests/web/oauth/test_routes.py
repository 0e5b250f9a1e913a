"""OAuth from discovery to revocation, as a client that knows only the URL goes through it."""

import json
from collections.abc import Iterator

import pytest

from nacre.core.limits import ACCESS_TOKEN_SECONDS, GRANT_DAYS, REFRESH_TOKEN_DAYS
from tests.scaffolding.oauth import (
    asking,
    challenge_of,
    connected,
    consent,
    exchange,
    fields_of,
    register,
    renew,
    tokens_of,
    told,
)
from tests.scaffolding.web_site import Browser, Site, site


@pytest.fixture(params=["laptop", "gateway"])
def place(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site(request.param) as made:
        yield made


def test_from_the_url_alone_a_client_gets_in(place: Site) -> None:
    refused = place.call("bto_wrong")
    metadata = fields_of(challenge_of(refused))["resource_metadata"].removeprefix(place.base)
    resource = place.get(metadata).json
    [issuer] = resource["authorization_servers"]
    server = place.get("/.well-known/oauth-authorization-server").json
    _, tokens = connected(place)
    answer = place.call(tokens.access)
    written = place.call(tokens.access, "update_notes")

    assert refused.status == 401
    assert (resource["resource"], issuer) == (f"{place.base}/mcp", place.base)
    assert server["issuer"] == issuer
    assert tokens.scope == "mcp:read mcp:write"
    assert (answer.status, written.status) == (200, 200)
    assert place.calls == ["get_current_time", "update_notes"]


def test_an_owner_who_is_not_signed_in_signs_in_on_the_way(place: Site) -> None:
    browser = Browser(place)
    client_id = register(place)["client_id"]
    sent = browser.get(asking(place, client_id))
    page = browser.get(sent["location"])
    entered = browser.submit(page, "/sign-in", secret=place.link())
    answer = told(consent(browser, entered["location"]))

    assert sent["location"].startswith("/sign-in?then=%2Fauthorize%3F")
    assert (answer["state"], answer["iss"]) == ("xyz", place.base)
    assert tokens_of(exchange(place, client_id, answer["code"])).access.startswith("bto_")


def test_the_page_names_the_client_the_being_and_where_the_answer_goes(place: Site) -> None:
    browser = Browser(place)
    browser.sign_in()
    page = browser.get(asking(place, register(place)["client_id"])).text

    for said in ("Editor", "nobody has verified this name", "127.0.0.1", "Ann", "Read only"):
        assert said in page
    assert "on your own machine" in page


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        ("https://editor.example:8443/cb", "editor.example"),
        ("evil://claude.ai/callback", "evil://claude.ai"),
        ("com.example.app:/callback", "com.example.app:"),
    ],
)
def test_what_follows_an_own_scheme_is_not_shown_as_a_host(
    place: Site, uri: str, shown: str
) -> None:
    browser = Browser(place)
    browser.sign_in()
    client_id = register(place, redirect_uris=[uri])["client_id"]
    page = browser.get(asking(place, client_id, redirect_uri=uri)).text

    assert f"<dd><strong>{shown}</strong></dd>" in page


def test_the_owner_may_let_a_client_only_read(place: Site) -> None:
    _, tokens = connected(place, scope="read-only")
    refused = place.call(tokens.access, "update_notes")

    assert tokens.scope == "mcp:read"
    assert place.call(tokens.access).status == 200
    assert refused.status == 403
    assert fields_of(challenge_of(refused))["error"] == "insufficient_scope"
    assert place.calls == ["get_current_time"]


def test_a_client_gets_no_more_than_it_asked_for(place: Site) -> None:
    browser = Browser(place)
    browser.sign_in()
    client_id = register(place)["client_id"]
    target = asking(place, client_id, scope="mcp:read")
    page = browser.get(target)
    answer = browser.submit(page, "/authorize", decision="allow", scope="full")

    assert 'value="full"' not in page.text
    assert tokens_of(exchange(place, client_id, told(answer)["code"])).scope == "mcp:read"


def test_the_owner_chooses_the_being(place: Site) -> None:
    other = place.authority.beings.create("Bob", owner="me").being_id
    _, tokens = connected(place, being=other)
    named = place.call(tokens.access, path=f"/mcp/{other}")
    wrong = place.call(tokens.access, path=f"/mcp/{place.being}")

    assert (named.status, wrong.status) == (200, 403)


def test_a_resource_that_names_a_being_decides(place: Site) -> None:
    other = place.authority.beings.create("Bob", owner="me").being_id
    browser = Browser(place)
    browser.sign_in()
    client_id = register(place)["client_id"]
    page = browser.get(asking(place, client_id, resource=f"{place.base}/mcp/{other}"))
    forged = browser.submit(page, "/authorize", decision="allow", being=place.being)
    page = browser.get(asking(place, client_id, resource=f"{place.base}/mcp/{other}"))
    code = told(browser.submit(page, "/authorize", decision="allow"))["code"]
    tokens = tokens_of(exchange(place, client_id, code))

    assert forged.status == 400
    assert "Ann" not in page.text
    assert place.call(tokens.access, path=f"/mcp/{other}").status == 200


def test_an_owner_without_a_being_gets_one(place: Site) -> None:
    place.authority.owners.add("eve")
    browser = Browser(place)
    browser.sign_in(place.authority.sign_in.links.make("eve").secret)
    connected(place, browser)

    assert [being.name for being in place.authority.beings.of_owner("eve")] == ["Pearl"]


def test_another_owners_being_cannot_be_asked_for(place: Site) -> None:
    place.authority.owners.add("eve")
    browser = Browser(place)
    browser.sign_in(place.authority.sign_in.links.make("eve").secret)
    client_id = register(place)["client_id"]
    answer = told(browser.get(asking(place, client_id, resource=f"{place.base}/mcp/{place.being}")))

    assert answer["error"] == "invalid_target"


def test_a_deleted_being_takes_its_clients_with_it(place: Site) -> None:
    client_id, tokens = connected(place)
    place.authority.tokens.erase(place.being)

    assert place.call(tokens.access).status == 401
    assert renew(place, client_id, tokens.refresh).json["error"] == "invalid_grant"
    assert place.authority.grants.of_owner("me") == []


def test_a_being_that_goes_while_its_owner_decides_is_told_to_the_client(place: Site) -> None:
    browser, beings = Browser(place), place.authority.beings
    browser.sign_in()
    named = beings.create("Bob", owner="me")
    resource = f"{place.base}/mcp/{named.being_id}"
    page = browser.get(asking(place, register(place)["client_id"], resource=resource))
    beings.close(named)
    beings.remove(named)
    said = told(browser.submit(page, "/authorize", decision="allow"))

    assert (said["error"], said["state"], "code" in said) == ("invalid_target", "xyz", False)


def test_a_being_that_was_deleted_meanwhile_gets_no_client(place: Site) -> None:
    browser = Browser(place)
    browser.sign_in()
    client_id = register(place)["client_id"]
    code = told(consent(browser, asking(place, client_id)))["code"]
    being = place.authority.beings.get(place.being)
    assert being is not None
    place.authority.beings.close(being)

    assert exchange(place, client_id, code).json["error"] == "invalid_grant"


def test_a_client_that_registers_twice_is_two_clients_and_both_work(place: Site) -> None:
    browser = Browser(place)
    browser.sign_in()
    (first, one), (second, two) = connected(place, browser), connected(place, browser)

    assert first != second
    assert place.call(one.access).status == place.call(two.access).status == 200
    assert [grant.client_id for grant in place.authority.grants.of_owner("me")] == [first, second]


def test_tokens_end_in_time_and_are_renewed_for_as_long_as_the_grant_lives(place: Site) -> None:
    client_id, tokens = connected(place)
    place.time.pass_(seconds=ACCESS_TOKEN_SECONDS)
    ended = place.call(tokens.access).status
    months = 0
    while (answer := renew(place, client_id, tokens.refresh)).status == 200:
        tokens = tokens_of(answer)
        assert place.call(tokens.access).status == 200
        place.time.pass_(days=REFRESH_TOKEN_DAYS - 1)
        months += 1

    assert ended == 401
    assert answer.json["error"] == "invalid_grant"
    assert months == -(-GRANT_DAYS // (REFRESH_TOKEN_DAYS - 1))


def test_a_client_that_is_away_for_a_month_asks_again(place: Site) -> None:
    client_id, tokens = connected(place)
    place.time.pass_(days=REFRESH_TOKEN_DAYS)

    assert renew(place, client_id, tokens.refresh).json["error"] == "invalid_grant"


def test_a_client_with_a_secret_shows_it_in_either_way(place: Site) -> None:
    import base64

    browser = Browser(place)
    browser.sign_in()
    for method in ("client_secret_post", "client_secret_basic"):
        made = register(place, token_endpoint_auth_method=method)
        client_id, secret = made["client_id"], made["client_secret"]
        code = told(consent(browser, asking(place, client_id)))["code"]
        without = exchange(place, client_id, code)
        wrong = exchange(place, client_id, code, client_secret="x" * 43)
        if method == "client_secret_post":
            answer = exchange(place, client_id, code, client_secret=secret)
        else:
            basic = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
            answer = place.send(
                "POST",
                "/token",
                body=(
                    f"grant_type=authorization_code&code={code}"
                    "&redirect_uri=http%3A%2F%2F127.0.0.1%3A33418%2Fcallback"
                    f"&code_verifier={'v' * 43}"
                ).encode(),
                headers={
                    "content-type": "application/x-www-form-urlencoded",
                    "authorization": f"Basic {basic}",
                },
            )

        assert (without.status, wrong.status) == (401, 401)
        assert without.json["error"] == "invalid_client"
        assert answer.status == 200, answer.text


def test_no_secret_of_the_flow_is_stored_or_logged(place: Site) -> None:
    browser = Browser(place)
    browser.sign_in()
    made = register(place, token_endpoint_auth_method="client_secret_post")
    code = told(consent(browser, asking(place, made["client_id"])))["code"]
    answer = exchange(place, made["client_id"], code, client_secret=made["client_secret"])
    tokens = tokens_of(answer)
    newer = tokens_of(
        renew(place, made["client_id"], tokens.refresh, client_secret=made["client_secret"])
    )
    place.call(newer.access)
    secrets = [
        *(made["client_secret"], code, tokens.access, tokens.refresh),
        *(newer.access, newer.refresh, *browser.cookies.values()),
    ]
    stored, logged = place.dump(), place.log.getvalue()

    assert [secret for secret in secrets if secret in stored or secret in logged] == []


# As the document of the server shows it, but for where the server is and which token it is.
CONFIGURATION = """
{
  "mcpServers": {
    "my-being": {
      "url": "https://HOST/mcp",
      "headers": { "Authorization": "Bearer bto_xxxxxxxxxxxxxxxx" }
    }
  }
}
"""


@pytest.mark.requirement("003.client.bto-config")
def test_a_client_that_is_configured_with_an_access_token_needs_no_being_in_its_url(
    place: Site,
) -> None:
    _, tokens = connected(place)
    text = CONFIGURATION.replace("https://HOST", place.base)
    entry = json.loads(text.replace("bto_xxxxxxxxxxxxxxxx", tokens.access))["mcpServers"][
        "my-being"
    ]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = place.post_json(entry["url"].removeprefix(place.base), message, entry["headers"])

    assert answer.status == 200
    assert {tool["name"] for tool in answer.json["result"]["tools"]} == {
        *("get_current_time", "update_notes"),
    }
