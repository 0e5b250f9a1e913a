"""The options of `nacre proxy`, parsed without click because a client waits for the process."""

import re
from collections.abc import Mapping
from typing import Any

from nacre.core.errors import InvalidInputError
from nacre.core.lazy_dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.wiring.settings import Settings

_HELP = "see 'nacre proxy --help'"


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """The options of all forms as texts; a missing option is an empty text or tuple."""

    command: tuple[str, ...] = ()
    name: str = ""
    policy: str = ""
    data_dir: str = ""
    url: str = ""
    url_env: str = ""
    listen: str = ""
    transport: str = ""
    header: tuple[str, ...] = ()
    header_env: tuple[str, ...] = ()
    bearer_env: str = ""
    client_cert: str = ""
    client_key: str = ""
    timeout: str = ""
    base: tuple[str, ...] = ()
    pass_authorization: bool = False
    confine: bool = False
    connect: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()

    def variables(self) -> set[str]:
        """Return the words of the options that may name variables of the environment."""
        texts = (self.url_env, self.bearer_env, *self.header_env, *self.header, *self.env)
        return {word for text in texts for word in re.findall(r"\w+", text)}

    def settings(self) -> "Settings":
        """Return the settings of the environment, changed by the options."""
        from nacre.wiring.settings import Settings

        settings = Settings.from_environment()
        return settings._replace(
            data_folder=self.data_dir or settings.data_folder,
            policy_file=self.policy or settings.policy_file,
        )


_VALUED = {
    "--name": "name",
    "--policy": "policy",
    "--data-dir": "data_dir",
    "--url": "url",
    "--url-env": "url_env",
    "--listen": "listen",
    "--transport": "transport",
    "--bearer-env": "bearer_env",
    "--client-cert": "client_cert",
    "--client-key": "client_key",
    "--timeout": "timeout",
}
_CONFINED = ("connect", "read", "write", "run", "env", "accept")
_REPEATED = {
    **{"--header": "header", "--header-env": "header_env", "--base": "base"},
    **{f"--{name}": name for name in _CONFINED},
}
_FLAGS = {"--pass-authorization": "pass_authorization", "--confine": "confine"}
_OF_A_URL = (
    *("listen", "transport", "header", "header_env", "bearer_env", "timeout"),
    *("client_cert", "client_key", "pass_authorization"),
)


def parse(arguments: list[str]) -> ProxyOptions:
    """Return the options; raise InvalidInputError if one is unknown or does not fit."""
    values: dict[str, Any] = {}
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            values["command"] = tuple(remaining)
            break
        _take(argument, remaining, values)
    options = ProxyOptions(**values)
    _check(options, has_command="command" in values)
    return options


def _take(argument: str, remaining: Any, values: dict[str, Any]) -> None:
    name, equals, value = argument.partition("=")
    if argument in _FLAGS:
        values[_FLAGS[argument]] = True
        return
    fields: Mapping[str, str] = _REPEATED if name in _REPEATED else _VALUED
    if name not in fields:
        if argument.startswith("-"):
            raise InvalidInputError(f"no such option: {name}; {_HELP}")
        raise InvalidInputError(
            f"'{argument[:80]}' is not an option; put the server's command after two dashes: "
            "nacre proxy -- COMMAND"
        )
    text = value if equals else next(remaining, None)
    if text is None or (text == "--" and not equals):
        raise InvalidInputError(f"{name} needs a value; {_HELP}")
    if not text:
        raise InvalidInputError(f"{name} is empty; {_HELP}")
    if name in _REPEATED:
        values[fields[name]] = (*values.get(fields[name], ()), text)
    else:
        values[fields[name]] = text


def _check(options: ProxyOptions, *, has_command: bool) -> None:
    if options.url and options.url_env:
        raise InvalidInputError(f"--url and --url-env name two servers; give only one; {_HELP}")
    remote = bool(options.url or options.url_env)
    if has_command and remote:
        raise InvalidInputError(f"a command and --url name two servers; give only one; {_HELP}")
    if has_command and not options.command:
        raise InvalidInputError("there is no command after the two dashes; nacre proxy -- COMMAND")
    if not has_command and not remote:
        raise InvalidInputError(
            "no server is given: add its command after two dashes, or --url; "
            "nacre proxy -- COMMAND, or nacre proxy --url URL"
        )
    unsuitable = [name for name in _OF_A_URL if getattr(options, name)] if has_command else []
    if unsuitable:
        option = f"--{unsuitable[0].replace('_', '-')}"
        raise InvalidInputError(f"{option} is for servers with a --url, not for commands; {_HELP}")
    alone = [name for name in _CONFINED if getattr(options, name)]
    if alone and not options.confine:
        raise InvalidInputError(f"--{alone[0]} is for confined servers; add --confine; {_HELP}")
    if options.confine and not has_command:
        raise InvalidInputError(
            f"--confine is for servers that a command starts, not for a --url; {_HELP}"
        )
    if options.transport not in ("", "http", "sse"):
        raise InvalidInputError(f"--transport: '{options.transport[:40]}' is not http or sse")
    if options.name and not (options.name.isprintable() and len(options.name) <= 128):
        raise InvalidInputError("--name: at most 128 printable characters")
