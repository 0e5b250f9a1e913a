"""Beings, tokens, secrets, owners and status, on the laptop and on a stack."""

import io
import json
from collections.abc import Iterator

import pytest

from nacre.access.tokens.token_format import kind_of
from tests.cli.conftest import Nacre
from tests.wiring.deployed import deployed


@pytest.fixture(params=["laptop", "stack"], autouse=True)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Run every test here on both wirings: the options that name the place."""
    if request.param == "laptop":
        yield []
        return
    with deployed(monkeypatch) as stack:
        yield ["--stack", stack]


def test_a_being_is_created_and_listed(nacre: Nacre, place: list[str]) -> None:
    created = nacre("being", "create", "Ann", "--json", *place).json()

    assert created == {"being_id": created["being_id"], "name": "Ann"}
    listed = nacre("being", "list", "--json", *place).json()
    assert [(each["name"], each["being_id"]) for each in listed] == [("Ann", created["being_id"])]


def test_without_json_the_id_alone_is_on_standard_output(nacre: Nacre, place: list[str]) -> None:
    created = nacre("being", "create", "Ann", *place)

    listed = nacre("being", "list", *place).out.splitlines()
    assert listed[0].split() == ["NAME", "ID", "CREATED"]
    assert listed[1].split()[:2] == ["Ann", created.out.strip()]
    assert created.err == "Created the Being Ann.\n"


def test_a_taken_name_is_a_conflict(nacre: Nacre, place: list[str]) -> None:
    nacre("being", "create", "Ann", *place)

    again = nacre("being", "create", "ann", *place)

    assert (again.code, again.out) == (5, "")
    assert again.err == ("error: me already has a Being named 'ann'\nhint: choose another name\n")


@pytest.mark.parametrize("scope", ["full", "read-only"])
def test_a_token_is_created_for_the_only_being(nacre: Nacre, place: list[str], scope: str) -> None:
    being_id = nacre("being", "create", "Ann", "--json", *place).json()["being_id"]

    created = nacre(
        "token", "create", "--scope", scope, "--ttl", "12h", "--label", "test", "--json", *place
    ).json()

    assert kind_of(created["token"]) == "brt"
    assert created["being_id"] == being_id
    assert (created["scope"], created["label"], created["state"]) == (scope, "test", "active")
    listed = nacre("token", "list", "--json", *place).json()
    assert listed == [{k: v for k, v in created.items() if k not in ("token", "mcp_url")}]


def test_a_token_is_alone_on_standard_output(nacre: Nacre, place: list[str]) -> None:
    nacre("being", "create", "Ann", *place)

    created = nacre("token", "create", "--scope", "full", *place)

    assert kind_of(created.out.strip()) == "brt"
    assert created.out.strip() not in created.err
    assert "It is not shown again." in created.err
    table = nacre("token", "list", *place).out.splitlines()
    assert table[0].split() == ["ID", "HINT", "SCOPE", "STATE", "EXPIRES", "LABEL", "CLIENT"]
    assert table[1].split()[1:4] == [f"brt_…{created.out.strip()[-4:]}", "full", "active"]


def test_a_token_is_revoked_by_its_id(nacre: Nacre, place: list[str]) -> None:
    nacre("being", "create", "Ann", *place)
    kept, lost = (
        nacre("token", "create", "--scope", "full", "--json", *place).json()["token_id"]
        for _ in range(2)
    )

    revoked = nacre("token", "revoke", lost, "--json", *place).json()

    assert [(each["token_id"], each["state"]) for each in revoked] == [(lost, "revoked")]
    states = {t["token_id"]: t["state"] for t in nacre("token", "list", "--json", *place).json()}
    assert states == {kept: "active", lost: "revoked"}


def test_all_active_tokens_are_revoked_at_once(nacre: Nacre, place: list[str]) -> None:
    nacre("being", "create", "Ann", *place)
    for _ in range(2):
        nacre("token", "create", "--scope", "full", *place)

    assert len(nacre("token", "revoke", "--all", "--json", *place).json()) == 2
    assert nacre("token", "revoke", "--all", "--json", *place).json() == []


def test_a_token_that_is_not_there_cannot_be_revoked(nacre: Nacre, place: list[str]) -> None:
    nacre("being", "create", "Ann", *place)

    refused = nacre("token", "revoke", "tok_none", *place)

    assert (refused.code, refused.err) == (
        3,
        "error: there is no token 'tok_none' for this Being\nhint: see 'nacre token list'\n",
    )


def test_several_beings_need_a_choice(nacre: Nacre, place: list[str]) -> None:
    nacre("being", "create", "Ann", *place)
    bob = nacre("being", "create", "Bob", "--json", *place).json()["being_id"]

    unclear = nacre("token", "list", *place)

    assert unclear.code == 2
    assert "choose one with --being: " in unclear.err
    for name in ("bob", bob):
        created = nacre("token", "create", "--scope", "full", "--being", name, "--json", *place)
        assert created.json()["being"] == "Bob"


def test_no_being_yet_says_how_to_make_one(nacre: Nacre, place: list[str]) -> None:
    listed = nacre("token", "list", *place)

    assert (listed.code, listed.err) == (
        3,
        "error: there is no Being yet\nhint: make one with 'nacre being create NAME'\n",
    )


def test_options_before_the_command_mean_the_same(nacre: Nacre, place: list[str]) -> None:
    nacre("being", "create", "Ann", *place)
    nacre("being", "create", "Bob", *place)

    created = nacre(*place, "--being", "Ann", "token", "create", "--scope", "full", "--json")

    assert created.json()["being"] == "Ann"


def test_owners_do_not_share_beings(nacre: Nacre, place: list[str]) -> None:
    nacre("owner", "add", "ann", *place)
    nacre("being", "create", "Mia", "--owner", "ann", *place)

    assert nacre("being", "list", "--json", *place).json() == []
    assert len(nacre("being", "list", "--owner", "ann", "--json", *place).json()) == 1
    assert nacre("being", "list", "--owner", "bob", *place).code == 3
    assert nacre("owner", "list", "--json", *place).json() == [
        {"owner": "me", "beings": 0},
        {"owner": "ann", "beings": 1},
    ]


def test_a_secret_is_read_from_standard_input_and_shown_nowhere(
    nacre: Nacre, place: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"sesame\n")))

    outcome = nacre("secret", "set", "OPENAI_API_KEY", *place)

    assert (outcome.code, outcome.out, outcome.err) == (0, "", "Set OPENAI_API_KEY.\n")
    assert nacre("secret", "list", *place).out == "OPENAI_API_KEY\n"
    assert nacre("secret", "list", "--json", *place).json() == [{"name": "OPENAI_API_KEY"}]
    assert nacre("secret", "unset", "OPENAI_API_KEY", *place).code == 0
    assert nacre("secret", "unset", "OPENAI_API_KEY", *place).code == 3


@pytest.mark.requirement("000.cli.status")
def test_status_says_what_is_here_and_which_credentials_are_set(
    nacre: Nacre, place: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nacre("being", "create", "Ann", *place)
    nacre("token", "create", "--scope", "full", *place)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"sesame")))
    nacre("secret", "set", "OPENAI_API_KEY", *place)

    status = nacre("status", "--json", *place).json()

    assert [(b["name"], b["active_tokens"]) for b in status["beings"]] == [("Ann", 1)]
    assert status["secrets"] == ["OPENAI_API_KEY"]
    text = nacre("status", *place).out
    assert "Secrets: OPENAI_API_KEY" in text
    assert "sesame" not in text + json.dumps(status)


def test_a_being_is_renamed(nacre: Nacre) -> None:
    being_id = nacre("being", "create", "me").out.strip()
    nacre("being", "create", "Bob")

    renamed = nacre("being", "rename", "me", "Pearl")
    taken = nacre("being", "rename", "Pearl", "bob")
    unknown = nacre("being", "rename", "me", "Iris")

    assert (renamed.code, renamed.err) == (0, "me is now called Pearl.\n")
    assert (taken.code, unknown.code) == (5, 3)
    listed = nacre("being", "list", "--json").json()
    assert {each["name"]: each["being_id"] for each in listed}["Pearl"] == being_id
