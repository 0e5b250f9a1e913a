"""The checks of doctor, on this machine and on a stack."""

import asyncio
import os
import shlex
import stat
import sys
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from nacre.being.memory.model import keys
from nacre.cli.being_options import Place
from nacre.cli.operate.finding import Finding, attempt
from nacre.core.clock import system_clock
from nacre.core.limits import EXACT_ITEM_POINTS
from nacre.http_client.address import parse_address
from nacre.http_client.client import HttpClient
from nacre.http_client.errors import ConnectError, HttpError
from nacre.ports.items.paging import every_item
from nacre.ports.items.table import Range
from nacre.wiring.compose import Home
from nacre.wiring.outgoing import outgoing_of
from nacre.wiring.settings import Settings

if TYPE_CHECKING:
    from nacre.access.beings import Being
    from nacre.gateway.catalogue.in_process import InProcessServer

_SOON = timedelta(days=7)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_TIMEOUT_SECONDS = 5


def check_laptop(place: Place, port: int | None) -> list[Finding]:
    """Check the data folder, its contents and the port."""
    folder = Path(place.folder()).expanduser().absolute()
    findings = attempt("data folder", lambda: _check_folder(folder))
    if findings[0].state != "fail" and folder.is_dir():
        store = attempt("store", lambda: _check_store(folder))
        findings += store
        if store[0].state == "ok":
            findings += attempt("beings", lambda: _check_home(place.open(), place))
            findings += attempt("policy", lambda: _check_policy(place.open(), place))
            findings += attempt("embedding", lambda: _check_embedding(place.open(), place))
            findings += attempt("language model", lambda: _check_model(place.open(), place))
            findings += attempt("servers", lambda: _check_servers(place.open(), place))
            findings += attempt("own tools", _check_own_tools)
            findings += attempt("keys", lambda: _check_keys(folder))
    return findings + attempt("port", lambda: _check_port(folder, port))


def check_stack(place: Place, *, is_live: bool = False) -> list[Finding]:
    """Check the stack's outputs, tables, index and URL; with `is_live` its resources too."""
    findings: list[Finding] = []
    opened: list[Home] = []

    def open_stack() -> Iterator[Finding]:
        opened.append(place.open())
        yield Finding(
            "stack", "ok", f"{opened[0].ports.where} is deployed, and its token table answers"
        )

    findings += attempt("stack", open_stack)
    if not opened:
        return findings
    home = opened[0]
    findings += attempt("beings", lambda: _check_home(home, place))
    findings += attempt("index", lambda: _check_index(home, place))
    findings += attempt("url", lambda: _check_url(home.ports.mcp_url or ""))
    if is_live:
        from nacre.cli.operate.live_checks import check_live

        findings += check_live(home, place)
    return findings


def _check_index(home: Home, place: Place) -> Iterator[Finding]:
    """Check whether a Being has more memories than a search among the items reads."""
    deployment = home.ports.deployment
    if deployment is None:
        return
    searched_in = deployment.searched_in()
    if searched_in != "items":
        action = "ask Qdrant" if searched_in == "qdrant" else "read a file for each Being"
        yield Finding("index", "ok", f"searches {action}")
        return
    outgrown = []
    for being in home.beings.of_owner(place.owner_name):
        partition, only = keys.vectors(being.being_id), Range(prefix="P#")
        points = every_item(home.ports.data, partition, keys=only, at_once=500)
        if sum(1 for _ in islice(points, EXACT_ITEM_POINTS + 1)) > EXACT_ITEM_POINTS:
            outgrown.append(being.name)
    if outgrown:
        most = f"{EXACT_ITEM_POINTS:,}"
        problem = f"more than {most} memories, of which only the newest {most} are searched"
        advice = (
            "deploy with SearchFiles=on, or with QdrantUrl and then 'nacre reindex --stack':"
            " see docs/guides/deploy.md"
        )
        yield Finding("index", "warn", f"{', '.join(outgrown)}: {problem}", advice)
    else:
        yield Finding("index", "ok", "searches read the items, which is enough for each Being")


def _check_own_tools() -> Iterator[Finding]:
    """Load the user's own tool servers, as the server does, and report their problems."""
    from nacre.wiring.features.server_sources import own_servers

    problems: list[str] = []
    local = own_servers(Settings.from_environment(), problems.append)
    problems += [
        f"{server.name}: {text}" for server in local.servers for text in _wrong_schemas(server)
    ]
    for text in problems:
        advice = "fix it, then restart the server; other tools and files work meanwhile"
        yield Finding("own tools", "fail", text.removeprefix("tools: "), advice)
    if local.servers and not problems:
        names = ", ".join(server.name for server in local.servers)
        yield Finding("own tools", "ok", f"loaded: {names}")


def _wrong_schemas(local: "InProcessServer") -> Iterator[str]:
    """Yield problems of schemas, which are otherwise compiled at the first call of a tool."""
    for definition in local.server.tools():
        tool = local.server.get_tool(definition["name"])
        try:
            if tool is not None:
                tool.check()
        except Exception as error:  # noqa: BLE001 - a user's schema may raise anything
            yield f"the schema of a tool is wrong ({type(error).__name__}: {error})"


def _check_folder(folder: Path) -> Iterator[Finding]:
    from nacre.wiring.data_folder import prepare_data_folder

    if not folder.exists():
        yield Finding("data folder", "warn", f"{folder} does not exist yet", "run 'nacre serve'")
        return
    prepare_data_folder(folder, to_read=True)
    if _can_be_written(folder):
        yield Finding("data folder", "ok", f"{folder} is writable")
    else:
        problem = f"{folder} is read-only: exports and lists work, a server does not"
        yield Finding("data folder", "warn", problem, "make the folder and its files writable")
    if sys.platform == "win32":  # permissions are not in the mode there
        return
    open_to_others = [path for path in [folder, *folder.rglob("*")] if _is_open(path)]
    if open_to_others:
        problem = f"other users can read {open_to_others[0]}"
        yield Finding(
            "permissions", "warn", problem, f"run: chmod -R go= {shlex.quote(str(folder))}"
        )
    else:
        yield Finding("permissions", "ok", "only you can read the data folder")


def _can_be_written(folder: Path) -> bool:
    from nacre.wiring.data_folder import DATABASE

    store = folder / DATABASE
    return os.access(folder, os.W_OK) and (not store.exists() or os.access(store, os.W_OK))


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & _OTHERS)
    except FileNotFoundError:  # a temporary file of SQLite
        return False


def _check_store(folder: Path) -> Iterator[Finding]:
    from nacre.wiring.data_folder import DATABASE
    from nacre.wiring.laptop import store_problems

    if not (folder / DATABASE).exists():
        yield Finding("store", "warn", "there is no store yet", "run 'nacre serve'")
        return
    problems = store_problems(folder)
    if problems:
        advice = "stop nacre, copy the folder, then restore a backup"
        yield Finding("store", "fail", f"{DATABASE} is damaged: {problems[0]}", advice)
    else:
        yield Finding("store", "ok", f"{DATABASE} was read completely without an error")


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
            yield Finding(check, "warn", "the last one expires within a week", advice)
        else:
            yield Finding(check, "ok", f"{len(active)} active")


def _check_policy(home: Home, place: Place) -> Iterator[Finding]:
    from nacre.cli.operate.model_settings import policy_line

    broken: set[str] = set()
    for being in home.beings.of_owner(place.owner_name):
        line = policy_line(home, place, being.being_id)
        if not line.startswith("cannot"):
            yield Finding(f"policy of {being.name}", "ok", line)
        elif line not in broken:  # one file is in force for all Beings
            broken.add(line)
            yield Finding("policy", "fail", line, "run 'nacre policy lint'")
            continue
        yield from _check_profiles(home, being)


def _check_profiles(home: Home, being: "Being") -> Iterator[Finding]:
    """Check that what profiles and tokens name exists: a misspelt name reaches nothing."""
    from nacre.cli.servers.server_lookup import configured
    from nacre.core.own_server_name import OWN
    from nacre.wiring.features.server_sources import own_servers

    profiles = home.policies.of(being.being_id).policy.profiles
    bound = {
        record.profile
        for record in home.tokens.of_being(being.being_id)
        if record.profile and record.state(system_clock()) == "active"
    }
    check = f"profiles of {being.name}"
    for name in sorted(bound - {profile.name for profile in profiles}):
        problem = f"a token is bound to the profile {name!r}, which the policy does not have"
        yield Finding(
            check, "warn", problem, f"add [profile.{name}] to the policy, or revoke the token"
        )
    if not profiles:
        return
    servers = {OWN, *(config.name for _, config in configured(home))}
    servers |= {server.name for server in own_servers(home.settings, lambda _text: None).servers}
    for profile in profiles:
        for server in profile.servers:
            if server not in servers:
                problem = (
                    f"the profile {profile.name!r} names {server!r}, and there is no such server"
                )
                yield Finding(check, "fail", problem, "see 'nacre server list', then the policy")


def _check_embedding(home: Home, place: Place) -> Iterable[Finding]:
    from nacre.cli.operate.embedding_check import check_embedding

    return check_embedding(home, place)


def _check_model(home: Home, place: Place) -> Iterable[Finding]:
    from nacre.cli.operate.model_settings import check_model

    llm_keys = home.llm_keys
    beings = home.beings.of_owner(place.owner_name)
    return check_model(has_own_keys=any(llm_keys.status(being.being_id) for being in beings))


def _check_servers(home: Home, place: Place) -> Iterator[Finding]:
    """Check whether the programs of the other MCP servers are installed."""
    import shutil

    from nacre.cli.servers.server_lookup import configured

    for _, config in configured(home):
        program = config.command
        if not program or config.is_disabled or "$" in program or shutil.which(program):
            continue
        problem = f"{config.name} starts {program!r}, which is not installed"
        yield Finding(
            "servers", "fail", problem, f"install it, or: nacre server remove {config.name}"
        )


def _check_keys(folder: Path) -> Iterable[Finding]:
    from nacre.wiring.laptop import open_laptop

    if not _can_be_written(folder):
        return  # the check would have to open a server
    laptop = open_laptop(folder)
    try:
        laptop.signing_keys()
    finally:
        laptop.close()
    yield Finding("keys", "ok", "the keys that seal open calls can be read")


def _check_port(folder: Path, port: int | None) -> Iterator[Finding]:
    from nacre.cli.serve.serve import PORT
    from nacre.wiring.server_registry import running_urls

    running = running_urls(folder)
    if port is None and running:
        for url in running:
            yield from _check_running(url)
        return
    port = port or PORT
    status = http_status(f"http://127.0.0.1:{port}/mcp")
    if status is None:
        yield Finding("port", "ok", f"{port} is free")
    elif status == 401:
        yield Finding("port", "ok", f"an MCP server answers on {port} and asks for a token")
    else:
        advice = "use another port: nacre serve --port NUMBER"
        yield Finding("port", "warn", f"another program answers on {port}", advice)


def _check_running(url: str) -> Iterator[Finding]:
    status = http_status(url)
    if status == 401:
        yield Finding("port", "ok", f"the server at {url} answers and asks for a token")
    else:
        problem = f"the server at {url} runs, but this machine cannot reach that URL"
        yield Finding(
            "port", "warn", problem, "check NACRE_PUBLIC_URL, or the proxy in front of it"
        )


def _check_url(url: str) -> Iterator[Finding]:
    status = http_status(url)
    if status == 401:
        yield Finding("url", "ok", f"{url} answers and asks for a token")
    else:
        problem = "does not answer" if status is None else f"answers with status {status}, not 401"
        yield Finding("url", "fail", f"{url} {problem}", "look at the stack's logs with 'sam logs'")


def http_status(url: str) -> int | None:
    """Return the status of a request without a token: None if nobody answers, 0 for no HTTP."""
    address = parse_address(url)
    headers = ((b"host", address.authority.encode()),)
    outgoing = outgoing_of(Settings.from_environment())

    async def status() -> int:
        client = HttpClient(outgoing=outgoing, connect_seconds=_TIMEOUT_SECONDS)
        response = await client.send("GET", address, headers, seconds=_TIMEOUT_SECONDS)
        response.close()
        return response.status

    try:
        return asyncio.run(status())
    except ConnectError:
        return None
    except HttpError:
        return 0
