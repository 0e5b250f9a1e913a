"""The configuration of other servers, as `mcpServers` lists them: a program, or a URL."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Literal
from urllib.parse import urlsplit

from nacre.core.errors import ConfigurationError, InvalidInputError, NacreError
from nacre.core.lazy_dataclasses import dataclass, field
from nacre.core.limits import (
    UPSTREAM_ALIVE_SECONDS,
    UPSTREAM_CALLS,
    UPSTREAM_OPEN_SECONDS,
    UPSTREAM_SECONDS,
)
from nacre.firewall.content.digests import digest
from nacre.firewall.rules.arguments.base_folders import NONE, absolute_bases
from nacre.firewall.rules.globs.matching import matches
from nacre.gateway.qualified_names import server_name
from nacre.protocol import strict_json

Kind = Literal["stdio", "sse", "http"]
OFFERS = ("elicitation", "roots", "sampling")
_KINDS: Mapping[str, Kind] = {
    "stdio": "stdio",
    "local": "stdio",
    "sse": "sse",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "remote": "http",
}
_TEXTS = (
    *("command", "cwd", "url", "httpUrl", "serverUrl", "type", "transport"),
    *("client_cert", "client_key"),
)
_OWN = (
    *("command", "args", "env", "cwd", "type", "transport", "url", "headers", "disabled"),
    "trusted",  # unlike the keys below, not suggested for a misspelt one: Gemini CLI has "trust"
    *("httpUrl", "serverUrl", "allowed_tools", "disallowed_tools", "read_tools"),
    *("timeout_seconds", "open_seconds", "keep_alive_seconds", "concurrency", "offers", "base"),
    *("oauth", "confine", "client_cert", "client_key", "tasks"),
)
_GRANTS = ("read", "write", "run", "accept")
_OAUTH = ("client_id", "client_secret", "scopes")


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The client that an owner has registered by hand for logins, and the scopes to ask for."""

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Confinement:
    """The rights that a confined program gets in addition to those that the rules name."""

    connect: tuple[int, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """One server: how it is reached, and which of its tools are offered.

    `name` is its name in rules, the audit and tools. Texts may hold references. `base` are the
    folders from which it resolves relative paths, as its owner declares them. The owner answers
    for all that a trusted server returns; results of others are untrusted content. With `as_tasks`
    its calls become tasks where the client takes them.
    """

    name: str
    kind: Kind
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    allowed_tools: tuple[str, ...] | None = None
    disallowed_tools: tuple[str, ...] = ()
    read_tools: tuple[str, ...] = ()
    timeout: float = UPSTREAM_SECONDS
    open_timeout: float = UPSTREAM_OPEN_SECONDS
    keep_alive: float = UPSTREAM_ALIVE_SECONDS  # between pings of a session at a URL; 0 sends none
    concurrency: int = UPSTREAM_CALLS
    offers: tuple[str, ...] = OFFERS
    base: tuple[str, ...] = ()
    oauth: OAuthClient = OAuthClient()
    confine: Confinement | None = None
    client_cert: str = ""
    client_key: str = field(default="", repr=False)
    as_tasks: bool = False
    is_trusted: bool = False
    is_disabled: bool = False
    digest: str = ""

    def takes(self, tool: str) -> bool:
        """Tell whether a tool is offered at all."""
        if _any(self.disallowed_tools, self.name, tool):
            return False
        return self.allowed_tools is None or _any(self.allowed_tools, self.name, tool)

    def reads(self, tool: str) -> bool:
        """Tell whether the owner declares a tool as read-only."""
        return _any(self.read_tools, self.name, tool)

    @property
    def takes_login(self) -> bool:
        """Tell whether its owners may log in: it is at a URL, and no header has a token for it."""
        is_fixed = any(name.lower() == "authorization" for name in self.headers)
        return self.kind != "stdio" and not is_fixed

    def where(self) -> str:
        """Return the command or the URL, without secrets."""
        return self.command if self.kind == "stdio" else self.url.partition("?")[0]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of one server, which does not affect the others."""

    server: str
    text: str


@dataclass(frozen=True, slots=True)
class ServerList:
    """The valid servers of one place, by name, and the problems of the others."""

    servers: tuple[ServerConfig, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_servers(text: str, *, source: str) -> ServerList:
    """Read a file with `mcpServers`; raises ConfigurationError if it is not one."""
    try:
        value = strict_json.parse(text.encode())
    except NacreError as error:
        raise ConfigurationError(f"{source}: {error}; it must be plain JSON") from error
    return servers_from(entries_of(value, source=source), source=source)


def entries_of(value: Any, *, source: str) -> Mapping[str, Any]:
    """Return the servers under `mcpServers`, or under the names that other clients use."""
    if isinstance(value, dict):
        for key in ("mcpServers", "servers", "mcp_servers", "context_servers"):
            if isinstance(entries := value.get(key), dict):
                return entries
    raise ConfigurationError(f'{source}: it must be an object with "mcpServers": {{...}}')


def servers_from(entries: Mapping[str, Any], *, source: str) -> ServerList:
    """Return the servers in the order of their names."""
    servers: dict[str, ServerConfig] = {}
    problems: list[Problem] = []
    for given_name, entry in entries.items():
        try:
            config = server_from(given_name, entry)
        except InvalidInputError as error:
            problems.append(Problem(str(given_name)[:80], f"{source}: {error}"))
            continue
        if config.name in servers:
            problems.append(Problem(config.name, f"{source}: there are two servers of this name"))
        elif not config.is_disabled:
            servers[config.name] = config
    return ServerList(tuple(servers[name] for name in sorted(servers)), tuple(problems))


def server_from(given_name: str, entry: Any) -> ServerConfig:
    """Return the configuration of one server; raises ConfigurationError if it is invalid."""
    name = server_name(given_name)
    if not isinstance(entry, Mapping):
        raise ConfigurationError(f"'{name}': it must be an object")
    _check(name, entry)
    url, kind = _url_and_kind(name, entry)
    if kind == "stdio" and not entry.get("command"):
        raise ConfigurationError(f"'{name}': give a 'command' to start, or a 'url'")
    if kind != "stdio":
        _check_url(name, url)
    return ServerConfig(
        name=name,
        kind=kind,
        command=entry.get("command", "") if kind == "stdio" else "",
        args=tuple(_strings(name, entry, "args") or ()) if kind == "stdio" else (),
        env=_texts(name, entry, "env") if kind == "stdio" else {},
        cwd=entry.get("cwd", ""),
        url=url,
        headers=_texts(name, entry, "headers") if kind != "stdio" else {},
        allowed_tools=_strings(name, entry, "allowed_tools"),
        disallowed_tools=_strings(name, entry, "disallowed_tools") or (),
        read_tools=_strings(name, entry, "read_tools") or (),
        timeout=_seconds(name, entry, "timeout_seconds", UPSTREAM_SECONDS),
        open_timeout=_seconds(name, entry, "open_seconds", UPSTREAM_OPEN_SECONDS),
        keep_alive=_keep_alive(name, entry),
        concurrency=_count(name, entry),
        offers=_offers(name, entry),
        base=_base(name, entry),
        oauth=_oauth(name, entry, kind),
        confine=_confine(name, entry, kind),
        **_client_certificate(name, entry, kind),
        as_tasks=entry.get("tasks") is True,
        is_trusted=entry.get("trusted") is True,
        is_disabled=entry.get("disabled") is True,
        digest=digest([given_name, {key: entry[key] for key in _OWN if key in entry}]),
    )


def merged(lists: Iterable[ServerList], *, reserved: Collection[str] = ()) -> ServerList:
    """Return the servers of several places; the first place with a name keeps it."""
    servers: dict[str, ServerConfig] = {}
    problems: list[Problem] = []
    for servers_of_place in lists:
        problems += servers_of_place.problems
        for config in servers_of_place.servers:
            if config.name in servers or config.name in reserved:
                problems.append(Problem(config.name, "there are two servers of this name"))
            else:
                servers[config.name] = config
    return ServerList(tuple(servers[name] for name in sorted(servers)), tuple(problems))


def unknown_keys(entry: Mapping[str, Any]) -> list[str]:
    """Return the keys that have no meaning here, such as settings of other programs."""
    return sorted(str(key) for key in entry if key not in _OWN)


def _check(name: str, entry: Mapping[str, Any]) -> None:
    for key in unknown_keys(entry):
        # A misspelled list of tools would offer every tool.
        similar = get_close_matches(key, _OWN[-15:], n=1, cutoff=0.8)
        if similar:
            raise ConfigurationError(f"'{name}': unknown key '{key[:60]}'; write '{similar[0]}'")
    for key in _TEXTS:
        if not isinstance(entry.get(key, ""), str):
            raise ConfigurationError(f"'{name}': '{key}' must be a string")
    for key in ("disabled", "trusted", "tasks"):
        if not isinstance(entry.get(key, False), bool):
            raise ConfigurationError(f"'{name}': '{key}' must be true or false")


def _url_and_kind(name: str, entry: Mapping[str, Any]) -> tuple[str, Kind]:
    url = entry.get("url") or entry.get("httpUrl") or entry.get("serverUrl") or ""
    transport = entry.get("type") or entry.get("transport") or ""
    if transport and transport not in _KINDS:
        raise ConfigurationError(
            f"'{name}': unknown type '{transport[:40]}' (stdio, sse, http or streamable-http)"
        )
    if entry.get("command") and url:
        raise ConfigurationError(f"'{name}': give a 'command' or a 'url', not both")
    if not url:
        return "", "stdio"
    if transport:
        kind = _KINDS[transport]
        return url, "http" if kind == "stdio" else kind
    ends_as_sse = urlsplit(url).path.rstrip("/").endswith("/sse")
    return url, "sse" if ends_as_sse and "httpUrl" not in entry else "http"


def _check_url(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.fragment
        _ = parts.port
    except ValueError:
        is_valid = False
    if not is_valid and not url.startswith("${"):
        raise ConfigurationError(f"'{name}': 'url' must be of the form https://HOST/PATH")
    if "@" in urlsplit(url).netloc:
        raise ConfigurationError(f"'{name}': keep credentials out of 'url'; write 'headers'")


def _strings(name: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise ConfigurationError(f"'{name}': '{key}' must be a list of texts")
    return tuple(value)


def _texts(name: str, entry: Mapping[str, Any], key: str) -> Mapping[str, str]:
    value = entry.get(key) or {}
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        raise ConfigurationError(f"'{name}': '{key}' must be an object of texts")
    if any(set("\n\r\0") & set(text) for text in (*value, *value.values())):
        raise ConfigurationError(f"'{name}': '{key}' holds a line break")
    return dict(value)


def _oauth(name: str, entry: Mapping[str, Any], kind: Kind) -> OAuthClient:
    value = entry.get("oauth")
    if value is None or kind == "stdio":
        return OAuthClient()
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"'{name}': 'oauth' must be an object")
    if unknown := sorted(str(key) for key in value if key not in _OAUTH):
        raise ConfigurationError(
            f"'{name}': unknown key '{unknown[0][:60]}' in 'oauth' ({', '.join(_OAUTH)})"
        )
    texts = {key: value.get(key, "") for key in _OAUTH[:2]}
    if not all(isinstance(text, str) and text.isprintable() for text in texts.values()):
        raise ConfigurationError(f"'{name}': the values in 'oauth' must be texts")
    if texts["client_secret"] and not texts["client_id"]:
        raise ConfigurationError(f"'{name}': 'oauth' has a client_secret and no client_id")
    return OAuthClient(**texts, scopes=_strings(name, value, "scopes") or ())


def _confine(name: str, entry: Mapping[str, Any], kind: Kind) -> Confinement | None:
    value = entry.get("confine", False)
    if value is False:
        return None
    if kind != "stdio":
        raise ConfigurationError(f"'{name}': 'confine' is for a 'command', not for a 'url'")
    if value is True:
        return Confinement()
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"'{name}': 'confine' must be true, false or an object")
    if unknown := sorted(str(key) for key in value if key not in ("connect", *_GRANTS)):
        keys = ", ".join(("connect", *_GRANTS))
        raise ConfigurationError(f"'{name}': unknown key '{unknown[0][:60]}' in 'confine' ({keys})")
    ports = value.get("connect", [])
    if not isinstance(ports, list) or not all(
        type(port) is int and 0 < port < 65_536 for port in ports
    ):
        raise ConfigurationError(f"'{name}': 'connect' in 'confine' must be a list of ports")
    grants = {key: _strings(name, value, key) or () for key in _GRANTS}
    return Confinement(connect=tuple(ports), **grants)


def _client_certificate(name: str, entry: Mapping[str, Any], kind: Kind) -> dict[str, str]:
    if kind == "stdio":
        return {}
    texts = {key: entry.get(key, "") for key in ("client_cert", "client_key")}
    if texts["client_key"] and not texts["client_cert"]:
        raise ConfigurationError(f"'{name}': give 'client_cert' too, the certificate of the key")
    return texts


def _seconds(name: str, entry: Mapping[str, Any], key: str, default: float) -> float:
    value = entry.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 3600:
        raise ConfigurationError(f"'{name}': '{key}' must be a number of seconds up to 3600")
    return float(value)


def _keep_alive(name: str, entry: Mapping[str, Any]) -> float:
    """Return the seconds between pings; 0 is none, and less than one would be a flood."""
    key = "keep_alive_seconds"
    value = entry.get(key, UPSTREAM_ALIVE_SECONDS)
    if key not in entry or (value == 0 and not isinstance(value, bool)):
        return float(value)
    seconds = _seconds(name, entry, key, UPSTREAM_ALIVE_SECONDS)
    if seconds < 1:
        raise ConfigurationError(f"'{name}': '{key}' must be at least 1, or 0 for no pings")
    return seconds


def _count(name: str, entry: Mapping[str, Any]) -> int:
    value = entry.get("concurrency", UPSTREAM_CALLS)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 256:
        raise ConfigurationError(f"'{name}': 'concurrency' must be a whole number from 1 to 256")
    return value


def _offers(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    value = _strings(name, entry, "offers")
    if value is None:
        return OFFERS
    if unknown := sorted(set(value) - set(OFFERS)):
        raise ConfigurationError(
            f"'{name}': 'offers' holds '{unknown[0][:40]}' ({', '.join(OFFERS)} are possible)"
        )
    return tuple(sorted(set(value)))


def _base(name: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    value = entry.get("base", [])
    folders = [value] if isinstance(value, str) else value
    if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
        raise ConfigurationError(f"'{name}': 'base' must be a folder or a list of folders")
    if folders != [NONE]:
        # A home folder and references are resolved when the server is opened.
        plain_folders = [folder for folder in folders if not folder.startswith(("~", "$"))]
        absolute_bases(plain_folders, f"'{name}': 'base'")
    return tuple(folders)


def _any(patterns: tuple[str, ...], server: str, tool: str) -> bool:
    prefix = f"mcp__{server}__"
    return any(matches(pattern.removeprefix(prefix), tool) for pattern in patterns)
