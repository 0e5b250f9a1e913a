"""Which hosts and pages may call, by the names that they give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import ForbiddenError
from nacre.protocol.http.allowed_origins import Fences, hostname
from tests.end_to_end.attacks.rows import attack

NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
FENCES = Fences(hosts=NAMES, origins=NAMES)


@pytest.mark.parametrize(
    "origin",
    ["http://localhost", "http://LOCALHOST:3000", "https://127.0.0.1:", "http://[::1]:80"],
)
def test_a_page_of_this_machine_passes(origin: str) -> None:
    FENCES.check({"host": "localhost:8642", "origin": origin})


@attack("R20")
@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost:x@evil.example",
        "http://localhost:80@evil.example",
        "http://localhost@evil.example",
        "http://user@localhost",
        "http://user:password@localhost:80",
        "http://evil.example@localhost",
        "http://localhost:80:80",
        "http://localhost\\@evil.example",
        "http://localhost?@evil.example",
        "http://localhost#@evil.example",
        "http://[::1]@evil.example",
        "http://[::1]:80@evil.example",
        "http://[::1",
        "null",
        "",
        "localhost",
    ],
)
def test_an_origin_that_is_no_plain_name_of_this_machine_is_refused(origin: str) -> None:
    with pytest.raises(ForbiddenError):
        FENCES.check({"host": "localhost", "origin": origin})


@pytest.mark.parametrize("host", ["localhost@evil.example", "localhost:1@evil.example", "a:b:c"])
def test_a_host_with_user_information_is_refused(host: str) -> None:
    with pytest.raises(ForbiddenError):
        FENCES.check({"host": host})


@given(st.text(alphabet="localhost127.0:@/[]\\?#%", max_size=30))
def test_only_a_name_and_a_port_are_taken_for_an_allowed_name(text: str) -> None:
    name = hostname(text)
    rest = text.partition("/")[0].lower().removeprefix(name)

    if name in NAMES:
        assert rest == "" or (rest[0] == ":" and (rest[1:] == "" or rest[1:].isdecimal()))
