"""Signing in from the command line, and the clients that were let in."""

import http.client
import json
import re
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from nacre.access.oauth.codes import Consent
from nacre.access.signin.webauthn import Site
from nacre.access.tokens.token_format import kind_of
from nacre.core.limits import SIGN_IN_LINK_SECONDS
from nacre.core.token_prefixes import OWNER_SECRET
from nacre.protocol.principal import FULL
from nacre.wiring.laptop import open_home
from tests.cli.conftest import Nacre
from tests.cli.processes import serving
from tests.scaffolding.passkeys import Device


def secret_of(link: str) -> str:
    return link.rpartition("#")[2]


def let_in(folder: Path, being_id: str, name: str = "Editor") -> str:
    """Return the id of a client's grant."""
    home = open_home(folder)
    consent = Consent(
        grant_id=f"grant_{name}",
        owner="me",
        being_id=being_id,
        client_id="client_1",
        client_name=name,
        client_host=None,
        scopes=FULL,
        resource="http://127.0.0.1:8642/mcp",
    )
    home.authority.grants.create(consent)
    home.close()
    return consent.grant_id


def test_bootstrap_shows_a_link_that_works_once(nacre: Nacre, folder: Path) -> None:
    shown = nacre("owner", "bootstrap")
    secret = secret_of(shown.out.strip())
    home = open_home(folder)
    links = home.authority.sign_in.links

    assert shown.out.startswith("http://127.0.0.1:8642/sign-in#bos_")
    assert kind_of(secret) == OWNER_SECRET
    assert "Signs me in once" in shown.err
    assert secret not in shown.err
    assert (links.use(secret), links.use(secret)) == ("me", None)
    home.close()


def test_the_link_leads_to_where_the_server_is_reached(
    nacre: Nacre, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = nacre("owner", "bootstrap", "--url", "http://127.0.0.1:9000/", "--json").json()
    monkeypatch.setenv("NACRE_PUBLIC_URL", "https://nacre.example.com")
    public = nacre("owner", "bootstrap").out

    assert asked["link"].startswith("http://127.0.0.1:9000/sign-in#bos_")
    assert asked["owner"] == "me"
    assert public.startswith("https://nacre.example.com/sign-in#bos_")
    assert SIGN_IN_LINK_SECONDS == 3600


def test_a_link_is_for_one_owner(nacre: Nacre, folder: Path) -> None:
    nacre("owner", "add", "eve")
    link = nacre("owner", "bootstrap", "--owner", "eve", "--json").json()["link"]
    unknown = nacre("owner", "bootstrap", "--owner", "bob")
    home = open_home(folder)

    assert home.authority.sign_in.links.use(secret_of(link)) == "eve"
    assert unknown.code == 3
    assert "no owner 'bob'" in unknown.err
    home.close()


def test_everything_can_be_taken_back(nacre: Nacre, folder: Path) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    nacre("token", "create", "--scope", "full")
    let_in(folder, being_id)
    old = secret_of(nacre("owner", "bootstrap").out.strip())
    home = open_home(folder)
    authority = home.authority
    session = authority.sessions.open("me")
    authority.sign_in.passwords.set("me", "four slow brown snails")
    passkeys, device = authority.sign_in.passkeys, Device("localhost", "http://localhost")
    made = device.made(passkeys.ask("add", "a browser"))
    passkeys.add("me", "Phone", **made, browser="a browser", site=Site(device.host, device.origin))

    done = nacre("owner", "bootstrap", "--revoke-all")

    assert "Revoked 1 session, 1 client, 1 token, 1 passkey and the password." in done.err
    assert authority.sign_in.links.use(old) is None
    assert authority.sessions.find(session.cookie) is None
    assert not authority.sign_in.passwords.has("me")
    assert passkeys.of_owner("me") == []
    assert authority.grants.of_owner("me") == []
    assert {each["state"] for each in nacre("token", "list", "--json").json()} == {"revoked"}
    assert authority.sign_in.links.use(secret_of(done.out.strip())) == "me"
    home.close()


def test_clients_are_listed_and_deleted(nacre: Nacre, folder: Path) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    none = nacre("client", "list")
    first, second = let_in(folder, being_id), let_in(folder, being_id, "Browser")
    listed = nacre("client", "list", "--json").json()
    table = nacre("client", "list").out
    deleted = nacre("client", "delete", first)
    again = nacre("client", "delete", first)
    left = [each["grant_id"] for each in nacre("client", "list", "--json").json()]

    assert "No client is connected" in none.err
    assert {each["grant_id"] for each in listed} == {first, second}
    assert {each["being"] for each in listed} == {"Ann"}
    assert {each["scope"] for each in listed} == {"full"}
    assert re.search(rf"^{first}  +Editor  +-  +Ann  +full ", table, re.MULTILINE)
    assert deleted.err == f"Deleted {first} (Editor).\n"
    assert again.code == 3
    assert "no connected client" in again.err
    assert left == [second]
    assert nacre("client", "delete", "--all").err == f"Deleted {second} (Browser).\n"
    assert nacre("client", "list", "--json").json() == []


def test_delete_wants_one_or_all(nacre: Nacre) -> None:
    assert nacre("client", "delete").code == 2
    assert nacre("client", "delete", "grant_1", "--all").code == 2


def test_the_server_shows_a_link_that_signs_in_and_serves_the_pages(nacre: Nacre) -> None:
    with serving() as server:
        base = server.url.removesuffix("/mcp")
        connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=60)
        connection.request("GET", "/.well-known/oauth-protected-resource/mcp")
        resource = json.loads(connection.getresponse().read())
        connection.request("GET", "/sign-in")
        page = connection.getresponse()
        cookie = str(page.headers["set-cookie"]).partition(";")[0]
        csrf = re.search(r'name="csrf" value="(\w+)"', page.read().decode())
        link = nacre("owner", "bootstrap", "--url", base).out.strip()
        assert csrf is not None
        fields = urlencode({"csrf": csrf[1], "then": "/account", "secret": secret_of(link)})
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
        connection.request("POST", "/sign-in", fields, headers)
        entered = connection.getresponse()
        connection.close()

    assert resource == {
        "resource": f"{base}/mcp",
        "authorization_servers": [base],
        "scopes_supported": ["mcp:read", "mcp:write"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Nacre",
    }
    assert (entered.status, entered.headers["location"]) == (303, "/account")


def test_erasing_a_being_leaves_nothing_of_its_clients(nacre: Nacre, folder: Path) -> None:
    being_id = nacre("being", "create", "Ann").out.strip()
    let_in(folder, being_id)
    erased = nacre("forget", "being", "Ann", "--yes", "--verify")

    assert erased.code == 0, erased.err
    assert nacre("client", "list", "--json").json() == []
