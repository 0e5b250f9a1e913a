"""Files of clients: read as their own readers do, and changed in one place or not at all."""

import json
import tomllib

import yaml

from nacre.core.errors import ConfigurationError, InvalidInputError, NacreError
from nacre.firewall.wrap.added_entry import with_entry, without_entry
from nacre.firewall.wrap.command_line import Launcher
from nacre.firewall.wrap.config_tree import Dialect, RawValue, Value, value_of
from nacre.firewall.wrap.file_edit import DIALECTS, restored_text, servers, unwrap_text, wrap_text
from nacre.firewall.wrap.own_entry import own_entry
from nacre.firewall.wrap.redacted_entry import shown_entry
from tests.firewall.wrap.client_configs import CONFIGS
from tests.firewall.wrap.test_client_formats import BY_NAME

LAUNCHER = Launcher(("/opt/nacre",))
CLIENTS = tuple(dict.fromkeys(config.client for config in CONFIGS))
FORMATS = tuple(DIALECTS)
LENGTH = 500
SEEDS = (
    b"",
    *(
        bytes([3 + CLIENTS.index(config.client)]) + config.text.encode()
        for config in CONFIGS
        if len(config.text.encode()) < LENGTH
    ),
    b"\0// a\n{'a': [1, .5, 0x1F, +Infinity,], b: \"\\u0041\\\n\", /* c */ $d: null}",
    b"\1a: &x [1, 'b', \"c\\n\"]\nb: {c: d, e: *x}\nf:\n- g: h\n- !t i\nj: |\n  k\n  l\n",
    b"\2a = 1\n[b.'c']\nd.e = \"f\\u0041\"\n[[g]]\nh = [1, {i = 'j'}, 1979-05-27 07:32:00]\n",
    b'\2s = """a\n"b"""\nt = \'\'\'c\n\'\'\'\n[x.y]\n[x]\nz = 0x1F\n',
)


def one(data: bytes) -> None:
    """Take the input for a file of the format, or of the client, that its first byte says."""
    kind = (data[:1] or b"\0")[0] % (3 + len(CLIENTS))
    text = data[1:].decode("utf-8", "replace")
    if kind < len(FORMATS):
        _read(FORMATS[kind], text)
    else:
        _wrapped(CLIENTS[kind - len(FORMATS)], text)
        _connected(CLIENTS[kind - len(FORMATS)], text)


def _read(name: str, text: str) -> None:
    dialect: Dialect = DIALECTS[name]
    try:
        node = dialect.parse(text)
    except ConfigurationError as error:
        assert len(str(error)) < 200
        if name == "json":  # all that a strict reader takes is taken here too
            assert not _is_json(text) or "nested too deep" in str(error)
        return
    _check_places(node_text=text, start=node.start, end=node.end)
    if name == "json" and _is_json(text):
        assert _plain(value_of(node)) == _spelt(json.loads(text.removeprefix("\ufeff")))
    elif name == "toml":
        assert _texts(value_of(node)) == _texts_of(tomllib.loads(text.removeprefix("\ufeff")))


def _check_places(*, node_text: str, start: int, end: int) -> None:
    assert 0 <= start <= end <= len(node_text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _plain(value: Value) -> object:
    match value:
        case RawValue(text):
            return _spelt(json.loads(text))
        case dict():
            return {key: _plain(each) for key, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def _spelt(value: object) -> object:
    """Return numbers as texts of their own kind, so that NaN is itself."""
    match value:
        case bool() | int() | float() | None:
            return (repr(value),)
        case dict():
            return {key: _spelt(each) for key, each in value.items()}
        case list():
            return [_spelt(each) for each in value]
        case _:
            return value


def _texts(value: Value) -> object:
    """Return a value with everything that is no text left out."""
    match value:
        case RawValue():
            return None
        case dict():
            return {key: _texts(each) for key, each in value.items()}
        case list():
            return [_texts(each) for each in value]
        case _:
            return value


def _texts_of(value: object) -> object:
    match value:
        case dict():
            return {key: _texts_of(each) for key, each in value.items()}
        case list():
            return [_texts_of(each) for each in value]
        case str():
            return value
        case _:
            return None


def _connected(name: str, text: str) -> None:
    client = BY_NAME[name]
    path = (*client.containers[0], "nacre")
    entry = own_entry(client, "http://127.0.0.1:8642/mcp", ["/opt/nacre", "mcp-server"])
    try:
        if any(server.path == path for server in servers(text, client)):
            return
        addition = with_entry(text, client, path, entry)
    except InvalidInputError:
        return
    assert path in [server.path for server in servers(addition.text, client)]
    if addition.text.count(addition.added) == 1:
        assert without_entry(addition.text, client, path, addition.added) == text


def _wrapped(name: str, text: str) -> None:
    client = BY_NAME[name]
    try:
        found = servers(text, client)
    except InvalidInputError:
        return
    for server in found:
        try:
            change = wrap_text(text, client, server.path, LAUNCHER)
        except InvalidInputError as error:
            str(error)
            continue
        assert restored_text(change.text, client, server.path, change.old, change.new) == text
        assert _can_be_read(client.format, change.text) or not _can_be_read(client.format, text)
        shown_entry(change.text, client, server.path)
        try:
            unwrap_text(change.text, client, server.path, None)
        except NacreError as error:
            str(error)


def _can_be_read(name: str, text: str) -> bool:
    try:
        match name:
            case "json":
                json.loads(text.removeprefix("\ufeff"))
            case "toml":
                tomllib.loads(text.removeprefix("\ufeff"))
            case _:
                yaml.safe_load(text)
    except (ValueError, OverflowError, RecursionError, TypeError, KeyError, yaml.YAMLError):
        return False
    return True
