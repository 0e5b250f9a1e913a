"""An entry of a client's list, before and after the proxy stands in it: value to value."""

import re
from urllib.parse import urlsplit

from nacre.core.errors import InvalidInputError
from nacre.core.own_server_name import OWN, is_own
from nacre.core.token_prefixes import ANYWHERE
from nacre.firewall.wrap.client_formats import Shape
from nacre.firewall.wrap.command_line import Launcher, Proxied, program_length, read_line
from nacre.firewall.wrap.config_tree import Literal, Value
from nacre.firewall.wrap.proxied_url import Entry, unwrapped_url, wrapped_url

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_BEING = re.compile(rf".*/mcp(?:/{_UUID}/?\?|/?\?(?:.*&)?being_id={_UUID}(?:&|$)).*")
_TOKEN = re.compile(ANYWHERE)
_HERE = ("127.0.0.1", "localhost", "::1")


def command_line(entry: Entry, shape: Shape) -> list[str] | None:
    """Return what an entry starts; None where it starts nothing."""
    command = entry.get(shape.command)
    if isinstance(command, dict):  # Zed's older form
        return _line(command.get("path"), command.get("args"))
    if not shape.args:
        return None if command is None else _texts(command, shape.command)
    return _line(command, entry.get(shape.args))


def folder_of(entry: Entry) -> str:
    """Return the working folder that an entry names, or nothing."""
    folder = entry.get("cwd")
    return folder if isinstance(folder, str) else ""


def proxied(entry: Entry, shape: Shape) -> Proxied | None:
    """Return the proxy that an entry starts, if it does."""
    try:
        return read_line(command_line(entry, shape) or [])
    except InvalidInputError:
        return None


def is_ours(name: str, entry: Entry, shape: Shape) -> bool:
    """Tell whether an entry starts or calls Nacre itself, whose calls a policy decides anyway.

    A URL is Nacre's where a token of Nacre's goes with it, or where it names a Being: on this
    machine, or under Nacre's own name.
    """
    try:
        line = command_line(entry, shape) or []
    except InvalidInputError:
        return False
    if program_length(line) > 0:
        return True
    urls = [str(entry[key]) for key in shape.urls_in(entry)] + [
        word for word in line if word.startswith(("http://", "https://"))
    ]
    return any(_is_own_url(url, name) or _has_own_token(entry) for url in urls)


def _is_own_url(url: str, name: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_here = parts.hostname in _HERE
    if _BEING.fullmatch(f"{parts.path}?{parts.query}"):
        return is_here or is_own(name)
    return is_here and is_own(name) and parts.path.rstrip("/") == "/mcp"


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
    """Tell whether an entry says nothing of how its server is started or reached."""
    return shape.command not in entry and not shape.urls_in(entry)


def wrapped(entry: Entry, shape: Shape, name: str, launcher: Launcher) -> dict[str, Value]:
    """Return an entry with the proxy in it; InvalidInputError says why there can be none."""
    if not name or not name.isprintable() or name == "--":
        raise InvalidInputError("its name cannot stand on a command line; give it another one")
    if is_own(name):
        raise InvalidInputError(f"rules take '{OWN}' for a Being's own tools; give it another name")
    line = command_line(entry, shape)
    urls = shape.urls_in(entry)
    if line is not None and urls:
        raise InvalidInputError(f"it has both '{shape.command}' and '{urls[0]}'; remove one")
    if line is not None:
        launcher = launcher.for_server(line, folder_of(entry))
        return _with_line(entry, shape, launcher.line(name, ["--", *line]))
    if not urls:
        raise InvalidInputError("the client brings this server itself; there is no command to wrap")
    return wrapped_url(entry, shape, urls[0], name, launcher)


def unwrapped(entry: Entry, shape: Shape, proxy: Proxied, before: Entry | None) -> dict[str, Value]:
    """Return an entry without the proxy, with all else that it now has.

    `before` is what it was, where that is known: from the entry alone it cannot be told which
    of several names a key had.
    """
    if proxy.inner is not None:
        return _with_line(entry, shape, list(proxy.inner))
    return unwrapped_url(entry, shape, proxy, before or {})


def _line(command: Value | None, args: Value | None) -> list[str] | None:
    if command is None:
        return None
    if not isinstance(command, str) or not command:
        raise InvalidInputError("its command is no text; write the program there")
    if args is None or args == Literal("null"):
        return [command]
    return [command, *_texts(args, "args")]


def _texts(value: Value, key: str) -> list[str]:
    texts = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(texts) != len(value):
        raise InvalidInputError(f"its '{key}' is no list of texts; put quotes around each")
    if key != "args" and not texts:
        raise InvalidInputError(f"its '{key}' is empty; write the program there")
    return texts


def _with_line(entry: Entry, shape: Shape, line: list[str]) -> dict[str, Value]:
    command, args = line[0], [*line[1:]]
    old = entry[shape.command]
    if isinstance(old, dict):
        return {**entry, shape.command: {**old, "path": command, "args": [*args]}}
    if not shape.args:
        return {**entry, shape.command: [*line]}
    return {**entry, shape.command: command, shape.args: [*args]}
