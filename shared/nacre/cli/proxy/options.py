"""What stands behind `nacre proxy`, read without click: a client waits for the process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nacre.core.errors import InvalidInputError

_HELP = "see 'nacre proxy --help'"


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """The options of all forms, as they were given; "" and () where they were not."""

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
    timeout: str = ""
    base: tuple[str, ...] = ()
    pass_authorization: bool = False


_VALUED = {
    "--name": "name",
    "--policy": "policy",
    "--data-dir": "data_dir",
    "--url": "url",
    "--url-env": "url_env",
    "--listen": "listen",
    "--transport": "transport",
    "--bearer-env": "bearer_env",
    "--timeout": "timeout",
}
_REPEATED = {"--header": "header", "--header-env": "header_env", "--base": "base"}
_FLAGS = {"--pass-authorization": "pass_authorization"}
_OF_A_URL = (
    *("listen", "transport", "header", "header_env", "bearer_env", "timeout"),
    "pass_authorization",
)


def parse(arguments: list[str]) -> ProxyOptions:
    """Return the options; raises InvalidInputError for what is no option or does not fit."""
    given: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            given["command"] = tuple(rest)
            break
        _take(argument, rest, given)
    options = ProxyOptions(**given)
    _check(options, has_command="command" in given)
    return options


def _take(argument: str, rest: Any, given: dict[str, Any]) -> None:
    name, equals, value = argument.partition("=")
    if argument in _FLAGS:
        given[_FLAGS[argument]] = True
        return
    known: Mapping[str, str] = _REPEATED if name in _REPEATED else _VALUED
    if name not in known:
        if argument.startswith("-"):
            raise InvalidInputError(f"no such option: {name}; {_HELP}")
        raise InvalidInputError(
            f"'{argument[:80]}' is no option; put the server's command behind two dashes: "
            "nacre proxy -- COMMAND"
        )
    found = value if equals else next(rest, None)
    if found is None or (found == "--" and not equals):
        raise InvalidInputError(f"{name} needs a value; {_HELP}")
    if not found:
        raise InvalidInputError(f"{name} is empty; {_HELP}")
    if name in _REPEATED:
        given[known[name]] = (*given.get(known[name], ()), found)
    else:
        given[known[name]] = found


def _check(options: ProxyOptions, *, has_command: bool) -> None:
    if options.url and options.url_env:
        raise InvalidInputError(f"--url and --url-env name two servers; give one of them; {_HELP}")
    remote = bool(options.url or options.url_env)
    if has_command and remote:
        raise InvalidInputError(f"a command and --url name two servers; give one of them; {_HELP}")
    if has_command and not options.command:
        raise InvalidInputError("no command stands behind the two dashes; nacre proxy -- COMMAND")
    if not has_command and not remote:
        raise InvalidInputError(
            "which server? Give its command behind two dashes, or --url; "
            "nacre proxy -- COMMAND, or nacre proxy --url URL"
        )
    wrong = [each for each in _OF_A_URL if getattr(options, each)] if has_command else []
    if wrong:
        option = f"--{wrong[0].replace('_', '-')}"
        raise InvalidInputError(f"{option} is for servers with a --url, not for commands; {_HELP}")
    if options.transport not in ("", "http", "sse"):
        raise InvalidInputError(f"--transport: '{options.transport[:40]}' is not http or sse")
    if options.name and not (options.name.isprintable() and len(options.name) <= 128):
        raise InvalidInputError("--name: at most 128 printable characters")
