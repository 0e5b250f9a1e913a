"""Wrap one server entry of a client's configuration with the proxy, and unwrap it again."""

import re
from urllib.parse import urlsplit

from nacre.core.errors import InvalidInputError
from nacre.core.loading_variables import loading_variable
from nacre.core.own_server_name import OWN, is_own
from nacre.core.token_prefixes import ANYWHERE
from nacre.firewall.wrap.client_formats import Shape
from nacre.firewall.wrap.command_line import Launcher, ProxyCommand, parse_proxy, program_length
from nacre.firewall.wrap.config_tree import RawValue, Value
from nacre.firewall.wrap.proxied_url import Entry, unwrap_url_entry, wrap_url_entry

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_BEING = re.compile(rf".*/mcp(?:/{_UUID}/?\?|/?\?(?:.*&)?being_id={_UUID}(?:&|$)).*")
_TOKEN = re.compile(ANYWHERE)
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def command_line(entry: Entry, shape: Shape) -> list[str] | None:
    """Return the command line of an entry, or None if it has none."""
    command = entry.get(shape.command)
    if isinstance(command, dict):  # Zed's older form
        return _line(command.get("path"), command.get("args"))
    if not shape.args:
        return None if command is None else _strings(command, shape.command)
    return _line(command, entry.get(shape.args))


def folder_of(entry: Entry) -> str:
    """Return the working folder of an entry, or "" if it names none."""
    folder = entry.get("cwd")
    return folder if isinstance(folder, str) else ""


def proxy_of(entry: Entry, shape: Shape) -> ProxyCommand | None:
    """Return the proxy that an entry starts, or None."""
    try:
        return parse_proxy(command_line(entry, shape) or [])
    except InvalidInputError:
        return None


def is_ours(name: str, entry: Entry, shape: Shape) -> bool:
    """Tell whether an entry starts or calls Nacre itself, which enforces a policy anyway.

    A URL is Nacre's own if the entry has a token of Nacre's, or if the URL names a Being and
    is on this machine or the entry has Nacre's own name.
    """
    try:
        line = command_line(entry, shape) or []
    except InvalidInputError:
        return False
    if program_length(line) > 0:
        return True
    urls = [str(entry[key]) for key in shape.urls_in(entry)] + [
        argument for argument in line if argument.startswith(("http://", "https://"))
    ]
    return any(_is_own_url(url, name) or _has_own_token(entry) for url in urls)


def _is_own_url(url: str, name: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_loopback = parts.hostname in _LOOPBACK
    if _BEING.fullmatch(f"{parts.path}?{parts.query}"):
        return is_loopback or is_own(name)
    return is_loopback and is_own(name) and parts.path.rstrip("/") == "/mcp"


def _has_own_token(value: object) -> bool:
    match value:
        case str():
            return _TOKEN.search(value) is not None
        case dict():
            return any(map(_has_own_token, value.values()))
        case list():
            return any(map(_has_own_token, value))
        case _:
            return False


def is_built_in(entry: Entry, shape: Shape) -> bool:
    """Tell whether an entry has neither a command nor a URL."""
    return shape.command not in entry and not shape.urls_in(entry)


def wrap_entry(entry: Entry, shape: Shape, name: str, launcher: Launcher) -> dict[str, Value]:
    """Return an entry with the proxy; raise InvalidInputError if it cannot have one."""
    if not name or not name.isprintable() or name == "--":
        raise InvalidInputError("its name cannot be an argument of a command; give it another one")
    if is_own(name):
        raise InvalidInputError(f"in rules '{OWN}' means a Being's own tools; give it another name")
    line = command_line(entry, shape)
    urls = shape.urls_in(entry)
    if line is not None and urls:
        raise InvalidInputError(f"it has both '{shape.command}' and '{urls[0]}'; remove one")
    if line is not None:
        launcher.check(line)
        launcher = launcher.for_server(line, folder_of(entry))
        variables = entry.get(shape.env)
        names = [*variables] if isinstance(variables, dict) else []
        if launcher.confines and (name_of_one := loading_variable(names)):
            raise InvalidInputError(
                f"'{name_of_one}' would also act on the proxy, which is not confined; remove it "
                "from the entry's environment"
            )
        launcher = launcher.with_variables(names)
        return _with_line(entry, shape, launcher.proxy_line(name, ["--", *line]))
    if not urls:
        raise InvalidInputError("this server is built into the client; there is no command to wrap")
    if launcher.confines:
        raise InvalidInputError("only a server that a command starts can be confined, not a URL")
    return wrap_url_entry(entry, shape, urls[0], name, launcher)


def unwrap_entry(
    entry: Entry, shape: Shape, proxy: ProxyCommand, before: Entry | None
) -> dict[str, Value]:
    """Return an entry without the proxy; its other members stay.

    `before` is the entry before it was wrapped, if it is known. It decides which name a key gets
    if several are possible.
    """
    if proxy.inner is not None:
        return _with_line(entry, shape, list(proxy.inner))
    return unwrap_url_entry(entry, shape, proxy, before or {})


def _line(command: Value | None, args: Value | None) -> list[str] | None:
    if command is None:
        return None
    if not isinstance(command, str) or not command:
        raise InvalidInputError("its command is not a string; write the program there")
    if args is None or args == RawValue("null"):
        return [command]
    return [command, *_strings(args, "args")]


def _strings(value: Value, key: str) -> list[str]:
    strings = [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(strings) != len(value):
        raise InvalidInputError(f"its '{key}' is not a list of strings; put quotes around each")
    if key != "args" and not strings:
        raise InvalidInputError(f"its '{key}' is empty; write the program there")
    return strings


def _with_line(entry: Entry, shape: Shape, line: list[str]) -> dict[str, Value]:
    command, args = line[0], [*line[1:]]
    old = entry[shape.command]
    if isinstance(old, dict):
        return {**entry, shape.command: {**old, "path": command, "args": [*args]}}
    if not shape.args:
        return {**entry, shape.command: [*line]}
    return {**entry, shape.command: command, shape.args: [*args]}
