"""Servers as clients' own files name them, and what is wrong with some."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.core.errors import ConfigurationError, InvalidInputError, UpstreamError
from nacre.core.limits import MAX_TOOL_NAME
from nacre.gateway.calls.external_server import CircuitBreaker
from nacre.gateway.catalogue.merged_lists import (
    ServerOffer,
    explicit_uri,
    merge_lists,
    place_of,
    read_explicit,
)
from nacre.gateway.qualified_names import exposed_name, server_name, server_of
from nacre.gateway.servers.config import Problem, merged, read_servers, server_from
from nacre.gateway.servers.references import References, holds_secret
from nacre.ports.other_programs.upstream import Offered
from nacre.sdk.tool_names import check_server_name, check_tool_name


def read(**servers: Any) -> Any:
    return read_servers(json.dumps({"mcpServers": servers}), source="f.json")


@pytest.mark.requirement("002.external.config")
def test_a_server_is_a_program_or_a_url_with_what_it_needs() -> None:
    found = read(
        files={"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}},
        events={"type": "sse", "url": "https://a.example/x", "headers": {"B": "2"}},
        web={"type": "http", "url": "https://a.example/mcp"},
    )

    assert found.problems == ()
    assert [(each.name, each.kind) for each in found.servers] == [
        ("events", "sse"),
        ("files", "stdio"),
        ("web", "http"),
    ]
    assert found.servers[0].headers == {"B": "2"}
    assert (found.servers[1].args, found.servers[1].env) == (("-y", "x"), {"A": "1"})


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"url": "https://a.example/mcp"}, "http"),
        ({"url": "https://a.example/sse"}, "sse"),
        ({"httpUrl": "https://a.example/sse"}, "http"),
        ({"serverUrl": "https://a.example"}, "http"),
        ({"type": "streamable-http", "url": "https://a.example"}, "http"),
        ({"command": "x", "autoApprove": ["y"], "gallery": True}, "stdio"),
    ],
)
def test_the_spellings_of_other_clients_are_understood(entry: dict[str, Any], kind: str) -> None:
    assert server_from("a", entry).kind == kind


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({}, "'a': give a 'command' to start, or a 'url'"),
        ({"command": "x", "url": "https://a.example"}, "'a': give a 'command' or a 'url', not"),
        ({"command": "x", "allowed_tool": ["y"]}, "'allowed_tool'; write 'allowed_tools'"),
        ({"command": "x", "read_tools": "y"}, "'read_tools' must be a list of texts"),
        ({"command": "x", "env": {"A": 1}}, "'env' must be an object of texts"),
        ({"url": "https://a.example", "headers": {"A": "b\nc: d"}}, "'headers' holds a line"),
        ({"url": "https://me:pw@a.example"}, "keep credentials out of 'url'"),
        ({"url": "file:///etc/passwd"}, "'url' must be of the form https://HOST/PATH"),
        ({"type": "smoke", "url": "https://a.example"}, "unknown type 'smoke'"),
        ({"command": "x", "concurrency": 0}, "'concurrency' must be a whole number"),
        ({"command": "x", "timeout_seconds": float("nan")}, "'timeout_seconds' must be"),
        ({"command": "x", "offers": ["tea"]}, "'offers' holds 'tea'"),
        ("x", "'a': it must be an object"),
    ],
)
def test_what_is_wrong_is_named(entry: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match="'a'") as wrong:
        server_from("a", entry)

    assert told in str(wrong.value)


def test_one_wrong_server_leaves_the_others() -> None:
    found = read(good={"command": "x"}, bad={})

    assert [each.name for each in found.servers] == ["good"]
    assert [each.server for each in found.problems] == ["bad"]


def test_a_file_that_names_a_server_twice_is_refused() -> None:
    text = '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}'

    with pytest.raises(ConfigurationError, match=r"^f\.json: "):
        read_servers(text, source="f.json")


def test_no_name_of_a_tool_makes_a_glob_slow() -> None:
    config = server_from("s", {"command": "s", "allowed_tools": ["*a*a*a*a*a*a*a*a*b", "read_?"]})

    # As a regular expression it would try a thousand ways to the power of eight.
    assert not config.takes("a" * 1000)
    assert config.takes("a" * 1000 + "b")
    assert config.takes("read_1")
    assert not config.takes("read_12")


def test_a_name_belongs_to_the_place_that_comes_first() -> None:
    first, second = read(a={"command": "x"}), read(a={"command": "y"}, b={"command": "z"})
    found = merged([first, second], reserved=["b"])

    assert [(each.name, each.command) for each in found.servers] == [("a", "x")]
    told = "there are two servers of this name"
    assert found.problems == (Problem("a", told), Problem("b", told))


def test_two_tools_of_any_names_never_meet() -> None:
    names = ["a b", "a_b", "a  b", "é", "e", "x" * 300, "x" * 301, "a/b"]

    assert len({exposed_name("s", name) for name in names}) == len(names)


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_name_becomes_one_that_every_client_takes(server: str, tool: str) -> None:
    if server.strip() in ("", "nacre"):
        return
    name = server_name(server)
    exposed = exposed_name(name, tool)

    assert check_server_name(name) == name
    assert check_tool_name(exposed) == exposed
    assert len(exposed) <= MAX_TOOL_NAME
    assert server_of(exposed) == name


def test_our_own_name_is_taken() -> None:
    with pytest.raises(InvalidInputError, match="this server's own name"):
        server_name("nacre")


def test_a_resource_of_two_servers_is_read_from_the_first_and_by_name_from_the_other() -> None:
    one = ({"uri": "x://a", "name": "a"},)
    own = ({"uri": "nacre://notes", "name": "n"},)
    lists = merge_lists(
        [ServerOffer("a", Offered(resources=one)), ServerOffer("b", Offered(resources=one + own))]
    )

    assert place_of("x://a", lists) == ("a", "x://a")
    assert place_of(explicit_uri("b", "x://a"), lists) == ("b", "x://a")
    assert [each["uri"] for each in lists.resources] == [
        "x://a",
        explicit_uri("b", "x://a"),
        explicit_uri("b", "nacre://notes"),
    ]


@given(st.text(min_size=1))
def test_an_explicit_uri_is_read_back(uri: str) -> None:
    try:
        uri.encode()
    except UnicodeEncodeError:
        return
    assert read_explicit(explicit_uri("a", uri)) == ("a", uri)


@pytest.mark.parametrize(
    "name", ["nacre", "Nacre", "NACRE", " nacre ", "\uff4e\uff41cre", "na\u200bcre"]
)
def test_no_server_takes_the_name_that_rules_know_as_our_own(name: str) -> None:
    with pytest.raises(InvalidInputError, match="choose another one"):
        server_name(name)


def test_what_is_called_as_if_it_were_of_our_own_server_is_of_none() -> None:
    assert server_of("mcp__nacre__get_context") is None
    assert read_explicit(explicit_uri("nacre", "nacre://soul")) is None
    assert read_explicit(explicit_uri("Nacre", "nacre://soul")) is None


@pytest.mark.parametrize("uri", ["nacre://soul", "NACRE://soul", "mcp://b/x%3A1", "MCP://b/x%3A1"])
def test_no_server_lists_a_uri_that_only_this_one_gives_out(uri: str) -> None:
    hostile = Offered(resources=({"uri": uri, "name": "x"},), templates=({"uriTemplate": uri},))
    honest = Offered(resources=({"uri": "x:1", "name": "x"},))
    lists = merge_lists([ServerOffer("a", hostile), ServerOffer("b", honest)])

    assert place_of(uri, lists) != ("a", uri)
    assert place_of(explicit_uri("a", uri), lists) == ("a", uri)
    assert [each["uri"] for each in lists.resources] == [explicit_uri("a", uri), "x:1"]
    assert lists.templates == ()


@pytest.mark.parametrize("template", ["{+uri}", "{scheme}://{+rest}", "{a}:{b}"])
def test_a_template_that_fits_everything_takes_nothing(template: str) -> None:
    lists = merge_lists([ServerOffer("a", Offered(templates=({"uriTemplate": template},)))])

    assert place_of("file:///private", lists) is None


def test_references_are_filled_where_they_lead() -> None:
    there = References({"KEY": "k"}.get, {"HOME": "/home/ann"})

    assert (
        there.filled("Bearer ${secret:KEY} ${HOME} ${NOPE:-else} $x")
        == "Bearer k /home/ann else $x"
    )
    assert there.filled("ssm:KEY") == "k"
    with pytest.raises(ConfigurationError, match="the variable NOPE is not set"):
        there.filled("${NOPE}")
    with pytest.raises(ConfigurationError, match="nacre secret set NOPE"):
        there.filled("${secret:NOPE}")
    with pytest.raises(ConfigurationError, match="which a stack does not have"):
        References(lambda _name: None).filled("${HOME}")


def test_a_credential_that_is_written_out_is_seen() -> None:
    assert holds_secret("Authorization", "Bearer abc")
    assert holds_secret("X-Api-Key", "abc")
    assert not holds_secret("Authorization", "Bearer ${secret:X}")
    assert not holds_secret("Accept", "abc")


def test_lists_that_succeed_do_not_excuse_calls_that_fail() -> None:
    now = [0.0]
    breaker = CircuitBreaker("s", lambda: now[0])
    for _ in range(3):
        breaker.check()
        breaker.record_list()
        breaker.record_failure("ends with each call", is_call=True)
    breaker.record_list()
    with pytest.raises(UpstreamError):
        breaker.check()
    now[0] = 15.0
    breaker.check()
    breaker.record_list()  # for the call that was let through, which is the one that follows
    breaker.check()
    with pytest.raises(UpstreamError):
        breaker.check()
    breaker.record_success()
    breaker.check()


def test_a_list_that_succeeds_ends_the_pause_of_lists_that_failed() -> None:
    breaker = CircuitBreaker("s", lambda: 0.0)
    for _ in range(5):
        breaker.record_failure("is down")
    assert breaker.seconds_left == 60.0
    breaker.record_list()
    breaker.check()


@pytest.mark.parametrize("seconds", [True, -1, 0.5, "45", 3601])
def test_a_time_between_pings_is_checked(seconds: Any) -> None:
    with pytest.raises(ConfigurationError, match="keep_alive_seconds"):
        server_from("web", {"url": "https://a.example", "keep_alive_seconds": seconds})


def test_after_failures_in_a_row_one_call_is_let_by_after_each_pause() -> None:
    now = [0.0]
    breaker = CircuitBreaker("s", lambda: now[0])
    for _ in range(3):
        breaker.check()
        breaker.record_failure("is down")
    with pytest.raises(UpstreamError, match="is down; it is tried again in 15 s"):
        breaker.check()
    now[0] = 15.0
    breaker.check()
    with pytest.raises(UpstreamError):
        breaker.check()
    breaker.record_failure("is down")
    now[0] = 44.0
    with pytest.raises(UpstreamError, match="in 1 s"):
        breaker.check()
    now[0] = 45.0
    breaker.check()
    breaker.record_success()
    breaker.check()


@pytest.mark.parametrize(
    ("value", "connect"),
    [(True, ()), ({"connect": [443], "run": ["git"]}, (443,)), ({}, ())],
)
def test_a_program_is_confined_where_its_entry_says_so(value: Any, connect: Any) -> None:
    confine = server_from("files", {"command": "node", "confine": value}).confine

    assert confine is not None
    assert confine.connect == connect
    assert server_from("files", {"command": "node", "confine": False}).confine is None


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"url": "https://a.example/mcp", "confine": True}, "not for a 'url'"),
        ({"command": "x", "confine": "yes"}, "true, false or an object"),
        ({"command": "x", "confine": {"ports": [1]}}, "unknown key 'ports'"),
        ({"command": "x", "confine": {"connect": ["443"]}}, "a list of ports"),
        ({"command": "x", "confine": {"connect": [0]}}, "a list of ports"),
        ({"command": "x", "confine": {"read": "/srv"}}, "a list of texts"),
        ({"command": "x", "confined": True}, "write 'confine'"),
    ],
)
def test_a_confinement_that_says_nothing_clear_is_refused(entry: Any, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        server_from("files", entry)
