"""The entry of a server that has a URL, with and without the proxy.

Headers, and URLs that hold keys, go into the proxy's environment in the same entry. None of
them is on a command line, which every program of the machine could read.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from nacre.core.errors import InvalidInputError
from nacre.firewall.wrap.client_formats import Shape
from nacre.firewall.wrap.command_line import Launcher, ProxyCommand
from nacre.firewall.wrap.config_tree import RawValue, Value

Entry = Mapping[str, Value]

_SSE = frozenset({"sse"})
_HTTP = frozenset({"http", "streamable-http", "streamable_http", "streamablehttp", "streamable"})
_COMMANDS = frozenset({"stdio", "local", "remote", "custom"})
_SIGNS_IN = frozenset(
    {"auth", "oauth", "oauth_client_id", "oauth_resource", "scopes", "authProviderType"}
)
_MAKES_HEADERS = frozenset({"headersHelper"})
_OF_MESSAGES = frozenset(
    (
        *("accept", "accept-encoding", "connection", "content-length", "content-type", "expect"),
        *("host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
    )
)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEMPLATE = re.compile(r"\$\{|\$[A-Za-z_]|\{env:|\{file:")
_RANDOM = re.compile(r"(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[\w-]{20,}")

_URL = "NACRE_URL"
_HEADER_VARIABLE = "NACRE_HEADER_"
_BEARER_VARIABLE = "NACRE_BEARER"
_ADDED = (_HEADER_VARIABLE, _URL, _BEARER_VARIABLE)
_KINDS = ("type", "transport", "transportType")


def wrap_url_entry(
    entry: Entry, shape: Shape, key: str, name: str, launcher: Launcher
) -> dict[str, Value]:
    _check_supported(entry)
    url = str(entry[key])
    if not url.lower().startswith(("http://", "https://")) and not _TEMPLATE.search(url):
        raise InvalidInputError(
            f"its '{key}' is not an http or https URL; only those can be wrapped"
        )
    if _has_login(url):
        raise InvalidInputError(
            f"its '{key}' holds a name and a password; put them into its headers instead"
        )
    environment = _environment(entry, shape)
    options = _transport(entry, shape, key)
    if may_hold_secret(url):
        environment[_URL] = url
        options += ["--url-env", _URL]
    else:
        options += ["--url", url]
    forwarded: list[str] = []
    for number, (header, value) in enumerate(_headers(entry, shape).items(), 1):
        variable = f"{_HEADER_VARIABLE}{number}"
        environment[variable] = value
        options += ["--header-env", f"{header}={variable}"]
    for header, variable in _named_headers(entry).items():
        forwarded.append(variable)
        options += ["--header-env", f"{header}={variable}"]
    options += _bearer(entry, environment, forwarded)
    return _local_entry(entry, shape, launcher.proxy_line(name, options), environment, forwarded)


def unwrap_url_entry(
    entry: Entry, shape: Shape, proxy: ProxyCommand, before: Entry
) -> dict[str, Value]:
    environment = entry.get(shape.env)
    environment = dict(environment) if isinstance(environment, dict) else {}
    address = _address(shape, proxy, environment, before)
    remaining = {key: value for key, value in environment.items() if not key.startswith(_ADDED)}
    ours = {shape.command, shape.args, shape.env, "type", "env_vars"}
    new = address | {key: value for key, value in entry.items() if key not in ours}
    if remaining or shape.env in before:
        new[shape.env] = remaining
    return new | {key: before[key] for key in ("env_vars", "oauth") if key in before}


def _has_login(url: str) -> bool:
    try:
        return "@" in urlsplit(url).netloc
    except ValueError:
        return False


def may_hold_secret(url: str) -> bool:
    """Tell whether a URL has a part that may be a key."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return True
    has_key = bool(parts.query or parts.fragment or "@" in parts.netloc)
    return has_key or any(map(_RANDOM.fullmatch, parts.path.split("/")))


def _local_entry(
    entry: Entry,
    shape: Shape,
    line: list[str],
    environment: dict[str, Value],
    forwarded: Sequence[str],
) -> dict[str, Value]:
    """Return an entry that starts a command, with the other members of the URL's entry."""
    listed = entry.get("env_vars")
    variables = dict.fromkeys([*(listed if isinstance(listed, list) else []), *forwarded])
    command: dict[str, Value] = {shape.command: line[0], shape.args: [*line[1:]]}
    if not shape.args:
        command = {shape.command: [*line]}
    if environment or shape.env in entry:
        command[shape.env] = environment
    if variables and shape.passed:
        command[shape.passed] = list(variables)
    removed = {*shape.urls, *_address_keys(shape), *command}
    new: dict[str, Value] = {}
    for key, value in entry.items():
        if key == "type":
            new[key] = shape.local
        elif key in shape.urls:  # the command takes the position of the URL
            new |= command
        elif key not in removed:
            new[key] = value
    return new


def _address_keys(shape: Shape) -> set[str]:
    keys = {shape.headers[0], *_KINDS, "oauth"}
    return keys | {"bearer_token_env_var", "env_http_headers", "apiKey"}


def _check_supported(entry: Entry) -> None:
    """Raise InvalidInputError if the client does more for an entry than send its headers."""
    for key in _SIGNS_IN & entry.keys():
        if entry[key] != RawValue("false"):
            raise InvalidInputError("the client signs in to it (OAuth), which a proxy cannot do")
    for key in _MAKES_HEADERS & entry.keys():
        raise InvalidInputError(
            f"the client generates its headers ('{key}'), which a proxy cannot do"
        )


def _environment(entry: Entry, shape: Shape) -> dict[str, Value]:
    environment = entry.get(shape.env)
    if environment is None or isinstance(environment, RawValue):
        return {}
    if not isinstance(environment, dict) or any(key.startswith(_ADDED) for key in environment):
        raise InvalidInputError(f"its '{shape.env}' cannot be added to; remove it")
    return dict(environment)


def _transport(entry: Entry, shape: Shape, key: str) -> list[str]:
    """Return the option that names the transport, or nothing if the proxy may detect it."""
    for name in _KINDS:
        kind = entry.get(name)
        if not isinstance(kind, str):
            continue
        if kind.lower() in _SSE:
            return ["--transport", "sse"]
        if kind.lower() in _HTTP:
            return ["--transport", "http"]
        if kind.lower() not in _COMMANDS:
            raise InvalidInputError(f"its '{name}' is neither http nor sse; it cannot be wrapped")
    if shape.sse and key == shape.sse:
        return ["--transport", "sse"]
    return ["--transport", "http"] if shape.http and key == shape.http else []


def _headers(entry: Entry, shape: Shape) -> dict[str, str]:
    value: Value | None = entry.get(shape.headers[0])
    for key in shape.headers[1:]:
        if isinstance(value, dict) and value.keys() - {key}:
            raise InvalidInputError(f"its '{shape.headers[0]}' has members that a proxy cannot use")
        value = value.get(key) if isinstance(value, dict) else None
    if value is None or value == RawValue("null"):
        return {}
    headers = _named_texts(value)
    if headers is None:
        raise InvalidInputError(f"its '{shape.headers[-1]}' are not texts by name; repair them")
    if shape.fills_headers and any("$" in text for text in headers.values()):
        raise InvalidInputError("the client fills in its headers, which a proxy cannot do")
    return {name: text for name, text in headers.items() if not _is_idle(name.lower(), text)}


def _is_idle(header: str, value: Value) -> bool:
    """Tell whether a header is empty or set for each message: a fixed value is of no use then."""
    of_protocol = header.startswith("mcp-") and not header.startswith("mcp-x-")
    return value == "" or header in _OF_MESSAGES or of_protocol


def _named_headers(entry: Entry) -> dict[str, str]:
    """Return the headers that Codex reads from environment variables."""
    headers = _named_texts(entry.get("env_http_headers", {}))
    if headers is None or not all(map(_VARIABLE.fullmatch, headers.values())):
        raise InvalidInputError("its 'env_http_headers' are not variables by header; repair them")
    return headers


def _named_texts(value: Value) -> dict[str, str] | None:
    if not isinstance(value, dict) or not all(map(_HEADER.fullmatch, value)):
        return None
    texts = {key: text for key, text in value.items() if isinstance(text, str)}
    return texts if len(texts) == len(value) else None


def _bearer(entry: Entry, environment: dict[str, Value], forwarded: list[str]) -> list[str]:
    variable, key = entry.get("bearer_token_env_var"), entry.get("apiKey")
    if isinstance(variable, str) and _VARIABLE.fullmatch(variable):
        forwarded.append(variable)
        return ["--bearer-env", variable]
    if isinstance(key, str):
        environment[_BEARER_VARIABLE] = key
        return ["--bearer-env", _BEARER_VARIABLE]
    if variable is not None or key is not None:
        raise InvalidInputError("its token is not a string; repair it")
    return []


def _address(
    shape: Shape, proxy: ProxyCommand, environment: Entry, before: Entry
) -> dict[str, Value]:
    """Return the URL, headers and kind of a server from the proxy's options and environment."""
    transport = proxy.first("--transport")
    key = next((key for key in shape.urls if key in before), shape.urls[0])
    address: dict[str, Value] = {name: before[name] for name in _KINDS if name in before}
    if not before and shape.http:
        key = shape.http if transport == "http" else shape.sse
    elif not before and (transport or shape.remote):
        address["type"] = transport or shape.remote
    address[key] = proxy.first("--url") or environment.get(proxy.first("--url-env"), "")
    return address | _address_headers(shape, proxy, environment, before)


def _address_headers(
    shape: Shape, proxy: ProxyCommand, environment: Entry, before: Entry
) -> dict[str, Value]:
    pairs = [option.partition("=")[::2] for option in proxy.all("--header-env")]
    headers: dict[str, Value] = {
        header: environment.get(variable, "")
        for header, variable in pairs
        if variable.startswith(_HEADER_VARIABLE)
    }
    named: dict[str, Value] = {
        header: variable for header, variable in pairs if header not in headers
    }
    earlier: Value | None = before.get(shape.headers[0])
    for key in shape.headers[1:]:
        earlier = earlier.get(key) if isinstance(earlier, dict) else None
    if isinstance(earlier, dict):
        idle = {name: value for name, value in earlier.items() if _is_idle(name.lower(), value)}
        headers = idle | headers
    address: dict[str, Value] = {}
    if headers or shape.headers[0] in before:
        nested: dict[str, Value] = headers
        for key in reversed(shape.headers[1:]):
            nested = {key: nested}
        address[shape.headers[0]] = nested
    if named:
        address["env_http_headers"] = named
    bearer = proxy.first("--bearer-env")
    if bearer == _BEARER_VARIABLE:
        address["apiKey"] = environment.get(bearer, "")
    elif bearer:
        address["bearer_token_env_var"] = bearer
    return address
