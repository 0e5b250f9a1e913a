"""What doctor looks at, on this machine and on a stack."""

import http.client
import os
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nacre.cli.being_options import Place
from nacre.cli.finding import Finding, attempt
from nacre.core.clock import system_clock
from nacre.wiring.home import Home

if TYPE_CHECKING:
    from nacre.gateway.catalogue.in_process import InProcess

_SOON = timedelta(days=7)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_TIMEOUT_SECONDS = 5


def check_laptop(place: Place, port: int | None) -> list[Finding]:
    """Look at the data folder, what is in it, and the port."""
    folder = Path(place.folder()).expanduser().absolute()
    findings = attempt("data folder", lambda: _check_folder(folder))
    if findings[0].state != "fail" and folder.is_dir():
        store = attempt("store", lambda: _check_store(folder))
        findings += store
        if store[0].state == "ok":
            findings += attempt("beings", lambda: _check_home(place.open(), place))
            findings += attempt("policy", lambda: _check_policy(place.open(), place))
            findings += attempt("language model", lambda: _check_model(place.open(), place))
            findings += attempt("servers", lambda: _check_servers(place.open(), place))
            findings += attempt("own tools", _check_own_tools)
            findings += attempt("keys", lambda: _check_keys(folder))
    return findings + attempt("port", lambda: _check_port(folder, port))


def check_stack(place: Place) -> list[Finding]:
    """Look at the stack's outputs, its tables and its address."""
    findings: list[Finding] = []
    opened: list[Home] = []

    def look() -> Iterator[Finding]:
        opened.append(place.open())
        yield Finding("stack", "ok", f"{opened[0].where} is deployed, its token table answers")

    findings += attempt("stack", look)
    if not opened:
        return findings
    home = opened[0]
    findings += attempt("beings", lambda: _check_home(home, place))
    return findings + attempt("url", lambda: _check_url(home.mcp_url or ""))


def _check_own_tools() -> Iterator[Finding]:
    """Load the user's own servers of tools, as the server does, and say what is wrong with them."""
    from nacre.wiring.features.server_sources import own_servers
    from nacre.wiring.settings import Settings

    told: list[str] = []
    local = own_servers(Settings.from_environment(), told.append)
    told += [
        f"{server.name}: {text}" for server in local.servers for text in _wrong_schemas(server)
    ]
    for text in told:
        advice = "fix it, then start the server again; other tools and files work meanwhile"
        yield Finding("own tools", "fail", text.removeprefix("tools: "), advice)
    if local.servers and not told:
        names = ", ".join(server.name for server in local.servers)
        yield Finding("own tools", "ok", f"loaded: {names}")


def _wrong_schemas(own: "InProcess") -> Iterator[str]:
    """Return what is wrong with schemas that nobody compiles before the tool's first call."""
    for definition in own.server.tools():
        tool = own.server.get_tool(definition["name"])
        try:
            if tool is not None:
                tool.check()
        except Exception as error:  # noqa: BLE001 - whatever a user's schema makes of it
            yield f"the schema of a tool is wrong ({type(error).__name__}: {error})"


def _check_folder(folder: Path) -> Iterator[Finding]:
    from nacre.wiring.data_folder import prepare_data_folder

    if not folder.exists():
        yield Finding("data folder", "warn", f"{folder} is not there yet", "run 'nacre serve'")
        return
    prepare_data_folder(folder, to_read=True)
    if _can_be_written(folder):
        yield Finding("data folder", "ok", f"{folder} can be written")
    else:
        found = f"{folder} can only be read: exports and lists work, a server does not"
        yield Finding("data folder", "warn", found, "make the folder and its files writable")
    if sys.platform == "win32":  # permissions are not in the mode there
        return
    open_to_others = [path for path in [folder, *folder.rglob("*")] if _is_open(path)]
    if open_to_others:
        found = f"{open_to_others[0]} can be read by others"
        yield Finding("permissions", "warn", found, f"run: chmod -R go= {shlex.quote(str(folder))}")
    else:
        yield Finding("permissions", "ok", "only you can read the data folder")


def _can_be_written(folder: Path) -> bool:
    from nacre.wiring.data_folder import DATABASE

    store = folder / DATABASE
    return os.access(folder, os.W_OK) and (not store.exists() or os.access(store, os.W_OK))


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except FileNotFoundError:  # a file of SQLite's that came and went
        return False


def _check_store(folder: Path) -> Iterator[Finding]:
    from nacre.wiring.data_folder import DATABASE
    from nacre.wiring.laptop import store_problems

    if not (folder / DATABASE).exists():
        yield Finding("store", "warn", "there is no store yet", "run 'nacre serve'")
        return
    problems = store_problems(folder)
    if problems:
        advice = "stop nacre, copy the folder, then put back a backup"
        yield Finding("store", "fail", f"{DATABASE} is damaged: {problems[0]}", advice)
    else:
        yield Finding("store", "ok", f"{DATABASE} was read to its end without a fault")


def _check_home(home: Home, place: Place) -> Iterator[Finding]:
    beings = home.beings.of_owner(place.owner_name)
    if not beings:
        advice = "run 'nacre being create NAME'"
        yield Finding("beings", "warn", f"{place.owner_name} has no Being", advice)
        return
    names = ", ".join(being.name for being in beings)
    yield Finding("beings", "ok", f"{place.owner_name} has {len(beings)}: {names}")
    now = system_clock()
    for being in beings:
        records = home.tokens.of_being(being.being_id)
        active = [record for record in records if record.state(now) == "active"]
        check = f"tokens of {being.name}"
        advice = f"run: nacre token create --being {shlex.quote(being.name)} --scope full"
        if not active:
            yield Finding(check, "warn", "none is active", advice)
        elif all(record.expires - now < _SOON for record in active):
            yield Finding(check, "warn", "the last one ends within a week", advice)
        else:
            yield Finding(check, "ok", f"{len(active)} active")


def _check_policy(home: Home, place: Place) -> Iterator[Finding]:
    from nacre.cli.operate.model_settings import policy_line

    broken: set[str] = set()
    for being in home.beings.of_owner(place.owner_name):
        told = policy_line(home, place, being.being_id)
        if not told.startswith("cannot"):
            yield Finding(f"policy of {being.name}", "ok", told)
        elif told not in broken:  # one file counts for all Beings
            broken.add(told)
            yield Finding("policy", "fail", told, "run 'nacre policy lint'")


def _check_model(home: Home, place: Place) -> Iterable[Finding]:
    from nacre.being.language_model.api_keys import LlmKeys
    from nacre.cli.operate.model_settings import check_model

    llm_keys = LlmKeys(home.data, home.vault, clock=system_clock, rng=SystemRandom())
    beings = home.beings.of_owner(place.owner_name)
    return check_model(has_own_keys=any(llm_keys.status(being.being_id) for being in beings))


def _check_servers(home: Home, place: Place) -> Iterator[Finding]:
    """Look whether the programs of the servers behind this one are there."""
    import shutil

    from nacre.cli.servers.server_lookup import configured

    for _, config in configured(home.data, place):
        program = config.command
        if not program or config.is_disabled or "$" in program or shutil.which(program):
            continue
        told = f"{config.name} starts {program!r}, which is not here"
        yield Finding("servers", "fail", told, f"install it, or: nacre server remove {config.name}")


def _check_keys(folder: Path) -> Iterable[Finding]:
    from nacre.wiring.laptop import open_laptop

    if not _can_be_written(folder):
        return  # a server would be opened
    laptop = open_laptop(folder)
    try:
        laptop.keys()
    finally:
        laptop.close()
    yield Finding("keys", "ok", "the keys that seal open calls can be read")


def _check_port(folder: Path, port: int | None) -> Iterator[Finding]:
    from nacre.cli.serve.serve import PORT
    from nacre.wiring.running_servers import running_urls

    running = running_urls(folder)
    if port is None and running:
        for url in running:
            yield from _check_running(url)
        return
    port = port or PORT
    status = _status(f"http://127.0.0.1:{port}/mcp")
    if status is None:
        yield Finding("port", "ok", f"{port} is free")
    elif status == 401:
        yield Finding("port", "ok", f"an MCP server answers on {port} and asks for a token")
    else:
        advice = "start with another one: nacre serve --port NUMBER"
        yield Finding("port", "warn", f"another program answers on {port}", advice)


def _check_running(url: str) -> Iterator[Finding]:
    status = _status(url)
    if status == 401:
        yield Finding("port", "ok", f"the server at {url} answers and asks for a token")
    else:
        told = f"the server at {url} runs, but this machine cannot reach it there"
        yield Finding("port", "warn", told, "check NACRE_PUBLIC_URL, or what stands in front of it")


def _check_url(url: str) -> Iterator[Finding]:
    status = _status(url)
    if status == 401:
        yield Finding("url", "ok", f"{url} answers and asks for a token")
    else:
        said = "does not answer" if status is None else f"answers with status {status}, not 401"
        yield Finding("url", "fail", f"{url} {said}", "look at the stack's logs with 'sam logs'")


def _status(url: str) -> int | None:
    """Return the status of a request without a token; None when nobody answers, 0 for no HTTP."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc, timeout=_TIMEOUT_SECONDS)
    try:
        connection.connect()
    except OSError:
        return None
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
