"""Names, addresses and words: what is taken has its form, stays so, and holds up nobody."""

import ipaddress
import re

from nacre.adapters.embeddings.word_pieces import bert_words
from nacre.being.memory.model.fields import cleaned_text
from nacre.being.memory.store.targets import parse_rule
from nacre.being.memory.text.memory_text import one_line as memory_line
from nacre.being.orders.media.file_names import base_name
from nacre.being.orders.order.agent import without_reasoning
from nacre.being.orders.order.answer import combined
from nacre.being.patrol.planning.prompt_text import without_recalls
from nacre.being.patrol.same_meaning.same_note import same_text
from nacre.cli.access.token import Duration
from nacre.core.errors import ConfigurationError, InvalidInputError
from nacre.core.limits import MAX_NAME_LENGTH, MAX_TOOL_NAME
from nacre.core.names import checked_name, checked_order_name, name_key, one_line, order_slug
from nacre.firewall.approvals.form import printable
from nacre.firewall.proxy.http.forwarded_headers import (
    headers_to_client,
    headers_to_server,
    version_header,
)
from nacre.firewall.proxy.server_name import name_of_command, name_of_url
from nacre.firewall.proxy.upstream.server_options import parse_headers
from nacre.firewall.wrap.proxied_url import may_hold_secret
from nacre.gateway.catalogue.merged_lists import explicit_uri, read_explicit
from nacre.gateway.qualified_names import exposed_name, server_name, server_of
from nacre.gateway.servers.config import read_servers
from nacre.gateway.servers.references import References, has_reference, holds_secret, written_secret
from nacre.http_client.address import Address, parse_address
from nacre.http_client.proxies import Proxies, is_excepted
from nacre.http_client.public_addresses import is_public
from nacre.sdk.tool_names import check_tool_name, qualified_name, split_name
from nacre.sdk.uri_template import UriTemplate
from nacre.text.analysis import fingerprint, mostly_cjk, terms
from nacre.wiring.settings import VARIABLES, Settings

HERE = Address(is_tls=True, host="api.example", port=443, target="/mcp/sse?x=1")
TEMPLATE = UriTemplate("mem://{being}/notes/{note}")
REFERENCES = References(lambda name: name[:3] or None, {"A": "a"})
LENGTH = 300
SEEDS = (
    b"",
    b"\0https://api.example:8443/mcp?key=1",
    b"\0//[::1]:99/x",
    b"\0/message?sessionId=a%20b",
    b"\1Authorization=Bearer ${TOKEN}",
    b"\1x-a: b\r\nc",
    b"\2mcp__files__read",
    "\2größe der Welt".encode(),
    b"\2npx -y @scope/server-files@1.2 /data",
    b"\2mcp://files/file%3A%2F%2F%2Fa",
    b'\3{"mcpServers":{"a b":{"command":"x","args":["--token=abc"],"env":{"K":"${A:-b}"}},'
    b'"c":{"url":"https://h/mcp?key=s","headers":{"Authorization":"ssm:X"},"offers":["roots"]}}}',
    b"\0042001:db8::1%eth0",
    b"\4::ffff:127.0.0.1",
    b"\4[::1]:80,.example:443, 192.0.2.0/24 *",
    b"\4https://ann:s%40@[2001:db8::1]:3128",
    "\5Ann fed 3 cats on 2026-01-01; <memory_recall>x</memory_recall> 猫が好き running".encode(),
    b"\5line [node 0191f6a0-0000-7000-8000-000000000001]  \n<think>a</think>b",
    b"\5[tone] Warm: be kind",
    b"\5Bob was driven home by Ann on Monday\nOn Monday Ann drove Bob home",
    b"\0063d",
    b"\6https://a.example,http://b:1",
)


def one(data: bytes) -> None:
    """Take the input for what its first byte says."""
    kind, raw = (data[:1] or b"\0")[0] % 7, data[1:]
    text = raw.decode("utf-8", "replace")
    match kind:
        case 0:
            _address(text)
        case 1:
            _headers(text)
        case 2:
            _names(text)
        case 3:
            _servers(text)
        case 4:
            _public(text)
        case 5:
            _words(text)
        case _:
            _settings(text)


def _address(text: str) -> None:
    for read in (parse_address, HERE.resolve):
        try:
            found = read(text)
        except InvalidInputError as error:
            assert len(str(error)) < 300
            continue
        assert parse_address(f"{'https' if found.is_tls else 'http'}://{found.authority}"
                             f"{found.target}") == found  # fmt: skip
        assert re.fullmatch(r"[!-~]+", found.authority + found.target)
        if read == HERE.resolve:
            assert (found.host, found.port) == (HERE.host, HERE.port)
        name = name_of_url(found.authority, found.path)
        assert 0 < len(name) <= MAX_NAME_LENGTH
    may_hold_secret(text)


def _headers(text: str) -> None:
    try:
        [(name, value)] = parse_headers([text], {"TOKEN": "s3cret"}.get)
    except InvalidInputError as error:
        assert "s3cret" not in str(error)
    else:
        assert re.fullmatch(r"[!#$%&'*+.^_`|~0-9a-z-]+", name)
        assert value
        assert not set(value) & set("\r\n\0")
    lines = [line.partition(":") for line in text.lower().split("\n")]
    headers = {name: value for name, _, value in lines}
    sent = headers_to_server(headers, with_credentials=False)
    assert not sent.keys() & {"authorization", "cookie", "host", "content-length", "connection"}
    assert version_header(headers).keys() <= {"mcp-protocol-version"}
    assert headers_to_client(headers, with_credentials=False).keys() <= {
        "cache-control",
        "retry-after",
        "allow",
    }


def _names(text: str) -> None:
    for check in (
        lambda: split_name(text),
        lambda: check_tool_name(text),
        lambda: qualified_name(text, text),
        lambda: UriTemplate(text).values(text),
        lambda: name_key(checked_name(checked_name(text, kind="name"), kind="name")),
        lambda: order_slug(checked_order_name(text)),
    ):
        try:
            check()
        except InvalidInputError as error:
            assert len(str(error)) < 300 + 20 * len(text)
    try:
        server = server_name(text)
    except InvalidInputError:
        server = "s"
    exposed = exposed_name(server, text)
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", exposed)
    assert len(exposed) <= MAX_TOOL_NAME
    assert server_of(exposed) == server
    assert read_explicit(explicit_uri(server, f"a:{text}")) == (server, f"a:{text}")
    read_explicit(text)
    TEMPLATE.values(text)
    assert 0 < len(name_of_command(text.split() or ["x"])) <= MAX_NAME_LENGTH
    assert one_line(text, 40).isprintable()
    assert len(one_line(text, 40)) <= 40
    assert printable(text).isprintable()
    name = base_name(text)
    assert name.isprintable()
    assert not set(name) & set("/\\`")


def _servers(text: str) -> None:
    try:
        found = read_servers(text, source="file")
    except ConfigurationError:
        return
    for config in found.servers:
        written_secret(config)
        config.where()
        config.takes(text)
        for name, value in (*config.headers.items(), *config.env.items()):
            holds_secret(name, value)
            try:
                filled = REFERENCES.filled(value)
            except ConfigurationError as error:
                assert has_reference(value), error
                continue
            assert has_reference(value) or filled == value


def _public(text: str) -> None:
    for host in (text, HERE.host, "192.0.2.1", "2001:db8::1"):
        is_excepted(host, 443, text)
    assert is_excepted(HERE.host, 443, f"{text},{HERE.host}")
    try:
        Proxies(f"http://s3cret:s3cret@{text}").route(HERE)
        Proxies(text).route(HERE)
    except ConfigurationError as error:
        assert "s3cret" not in str(error)
        assert len(str(error)) < 300
    if is_public(text):
        address = ipaddress.ip_address(text.partition("%")[0])
        assert address.is_global
        assert not address.is_private
        assert not address.is_loopback
        assert not address.is_multicast
        inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
        assert inner is None or inner.is_global


def _words(text: str) -> None:
    found = terms(text)
    assert all(term and not re.search(r"\s", term) for term in found)
    mostly_cjk(text)
    assert fingerprint(text, ["a", "b"], ["d"]) == fingerprint(text, ["b", "a"], ["d"])
    bert_words(text)
    clean = without_recalls(text)
    assert without_recalls(clean) == clean
    without_reasoning(text)
    assert same_text(text, text)
    one, _, other = text.partition("\n")
    for further in (text[::-1], other):
        assert same_text(one, further) == same_text(further, one)
    combined([text, "b"], text)
    assert "\n" not in memory_line(text)
    rule = parse_rule(text)
    assert rule.category == rule.category.strip()
    kept = cleaned_text(text, "text", limit=1_000_000)
    assert cleaned_text(kept, "text", limit=1_000_000) == kept


def _settings(text: str) -> None:
    if "\0" in text:
        return
    duration = Duration()
    try:
        duration.convert(text, None, None)
    except Exception as error:
        if type(error).__name__ != "BadParameter":
            raise
    for variable in VARIABLES.values():
        try:
            Settings.from_environment({"HOME": "/home/ann", variable.name: text})
        except ConfigurationError as error:
            assert variable.name in str(error), error
            assert len(str(error)) < 400 + 20 * len(text)
