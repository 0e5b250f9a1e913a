"""Wraps and unwraps servers in the files of the clients on this machine."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from shlex import quote
from typing import Any, Literal

from nacre.core.errors import ConfigurationError, InvalidInputError, NacreError
from nacre.core.lazy_dataclasses import dataclass
from nacre.firewall.rules.arguments.proposed_base import joined_note, proposed_base, with_certain
from nacre.firewall.wrap.client_formats import Client
from nacre.firewall.wrap.client_servers import ClientServer, reason_without_file
from nacre.firewall.wrap.command_line import Launcher, ProxyCommand
from nacre.firewall.wrap.config_tree import RawValue, Value
from nacre.firewall.wrap.file_edit import (
    Path,
    Server,
    entry_text,
    restored_text,
    servers,
    unwrap_text,
    wrap_text,
)
from nacre.firewall.wrap.proxied_entry import command_line, folder_of
from nacre.ports.other_programs.config_files import ConfigFiles, WrapRecord, WrapRecords

Result = Literal["wrapped", "renewed", "already wrapped", "unwrapped", "not wrapped", "refused"]

_TOKENS = ("bearer_token_env_var", "env_http_headers", "apiKey")
_URLS = ("http://", "https://")
_APPROVING = ("autoApprove", "alwaysAllow", "trust")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one server, with a reason or a note."""

    client: Client
    file: str
    path: Path
    result: Result
    note: str = ""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The results for the servers of one file, with its text before and after."""

    outcomes: tuple[Outcome, ...]
    before: str = ""
    after: str = ""


class Wrapper:
    """Changes the files of clients."""

    def __init__(
        self,
        files: ConfigFiles,
        records: WrapRecords,
        launcher: Launcher,
        *,
        now: Callable[[], datetime],
    ) -> None:
        self._files = files
        self._records = records
        self._launcher = launcher
        self._now = now

    def wrap(
        self, chosen: Sequence[ClientServer], *, rehearse: bool = False, name: str = ""
    ) -> FileOutcome:
        """Put the proxy before servers of one file; `name` is their name in rules, if given."""
        return self._change(chosen, partial(self._wrapped, name=name), rehearse=rehearse)

    def unwrap(self, chosen: Sequence[ClientServer], *, rehearse: bool = False) -> FileOutcome:
        """Remove the proxy from servers of one file."""
        result = self._change(chosen, self._unwrapped, rehearse=rehearse)
        if not rehearse:
            for outcome in result.outcomes:
                if outcome.result in ("unwrapped", "not wrapped"):
                    self._records.drop(outcome.file, outcome.path)
        return result

    def _change(
        self,
        chosen: Sequence[ClientServer],
        step: Callable[[str, ClientServer, bool], tuple[str, Outcome]],
        *,
        rehearse: bool,
    ) -> FileOutcome:
        """Change one file for several servers; a refused server does not stop the others."""
        last: list[FileOutcome] = []

        def change(text: str) -> str | None:
            changed = text
            outcomes = []
            for entry in chosen:
                try:
                    changed, outcome = step(changed, entry, rehearse)
                except InvalidInputError as error:
                    outcome = _outcome(entry, "refused", str(error))
                outcomes.append(outcome)
            last[:] = [FileOutcome(tuple(outcomes), text, changed)]
            return None if changed == text else changed

        file = chosen[0].file
        try:
            if rehearse:
                change(self._files.read(file))
            else:
                self._files.change(file, change)
        except NacreError as error:
            reason = reason_without_file(file, error)
            return FileOutcome(tuple(_outcome(entry, "refused", reason) for entry in chosen))
        return last[0]

    def _wrapped(
        self, text: str, entry: ClientServer, rehearse: bool, *, name: str
    ) -> tuple[str, Outcome]:
        server, launcher = _server(text, entry), self._launcher
        by_hand = ""
        if server.proxy is not None:
            if _is_as_wanted(server.proxy, self._launcher, name):
                return text, _outcome(entry, "already wrapped")
            bare, by_hand = self._without_proxy(text, entry)
            launcher = launcher.with_options_of(server.proxy)
            name = name or server.proxy.first("--name")
        elif server.is_ours:
            return text, _outcome(entry, "already wrapped", "it is Nacre itself")
        else:
            bare = text
        if not launcher.starts_programs and not server.address.startswith(_URLS):
            raise InvalidInputError(
                "on Windows the proxy cannot start a program; run the server over HTTP, and give"
                " the client its URL"
            )
        change = wrap_text(bare, entry.client, server.path, launcher, name)
        if not rehearse:
            # Before the file is written: after a crash there may be a record without a wrapped
            # entry, but never a wrapped entry without its record.
            self._records.put(
                WrapRecord(
                    entry.client.name,
                    entry.file,
                    server.path,
                    by_hand or change.old,  # a proxy that its owner wrote is restored
                    change.new,
                    json.dumps(_stored(dict(change.before))),
                    self._now().isoformat(timespec="seconds"),
                )
            )
        result: Result = "wrapped" if server.proxy is None else "renewed"
        notes = (_note(change.before, entry.client), _base_note(change.before, entry, launcher))
        return change.text, _outcome(entry, result, "; ".join(filter(None, notes)))

    def _unwrapped(self, text: str, entry: ClientServer, rehearse: bool) -> tuple[str, Outcome]:
        del rehearse
        if _server(text, entry).proxy is None:
            return text, _outcome(entry, "not wrapped")
        bare, note = self._bare(text, entry)
        return bare, _outcome(entry, "unwrapped", note)

    def _without_proxy(self, text: str, entry: ClientServer) -> tuple[str, str]:
        """Return the text without any proxy, and the text of a proxy entry that its owner wrote."""
        path = entry.server.path
        before, _ = self._bare(text, entry)
        if self._records.get(entry.file, path) is None:
            return before, entry_text(text, entry.client, path)
        if _server(before, entry).proxy is None:
            return before, ""
        bare = unwrap_text(before, entry.client, path, None).text
        return bare, entry_text(before, entry.client, path)

    def _bare(self, text: str, entry: ClientServer) -> tuple[str, str]:
        """Return the text without a server's proxy, and a note about it."""
        path = entry.server.path
        record = self._records.get(entry.file, path)
        if record is not None:
            restored = restored_text(text, entry.client, path, record.old, record.new)
            if restored is not None:
                return restored, ""
        before = None if record is None else _loaded(json.loads(record.before))
        members = before if isinstance(before, dict) else None
        change = unwrap_text(text, entry.client, path, members)
        if record is None:
            return (
                change.text,
                "its old entry was not recorded; its command is the one that the proxy started",
            )
        return change.text, "its entry was changed since then; the changes stay"


def _server(text: str, entry: ClientServer) -> Server:
    """Return the server as it is now; it may have changed since it was found."""
    for server in servers(text, entry.client):
        if server.path == entry.server.path:
            return server
    raise ConfigurationError("it is no longer there")


def _outcome(entry: ClientServer, result: Result, note: str = "") -> Outcome:
    return Outcome(entry.client, entry.file, entry.server.path, result, note)


def _is_as_wanted(proxy: ProxyCommand, launcher: Launcher, name: str) -> bool:
    bases = tuple(proxy.all("--base"))
    expected = launcher.for_server(proxy.inner or (), "").bases
    if bases and not launcher.bases:
        expected = bases
    return (
        proxy.program == launcher.program
        and name in ("", proxy.first("--name"))
        and bases == expected
        and (proxy.confines or not launcher.confines)
        and all(proxy.first(option) == value for option, value in launcher.pairs())
    )


def _base_note(before: Mapping[str, Value], entry: ClientServer, launcher: Launcher) -> str:
    """Return a note about the base folders of the server's relative paths."""
    line = command_line(before, entry.client.shape)
    proposed = proposed_base(line or (), folder_of(before), launcher.home)
    if declared := launcher.declared_bases():
        missing = with_certain(declared, proposed, launcher.home)[1]
        return joined_note(missing) if missing else ""
    folders = ", ".join(proposed.folders)
    if proposed.is_certain:
        return f"its relative paths begin at {folders}, as its arguments say"
    if not folders:
        return ""
    options = " ".join(f"--base {quote(folder)}" for folder in proposed.folders)
    return (
        f"relative paths are asked about; if it resolves them from {folders}, run "
        f"'nacre wrap {quote(entry.server.name)} {options}'"
    )


def _note(entry: Mapping[str, Value], client: Client) -> str:
    """Return notes about a server that was wrapped."""
    notes = [
        f"'{key}' tells the client to ask less for it; the policy still decides"
        for key in _APPROVING
        if entry.get(key) not in (None, [], RawValue("false"), RawValue("null"))
    ]
    if client.shape.urls_in(entry) and not entry.keys() & {client.shape.headers[0], *_TOKENS}:
        notes.append(
            "if you signed in to it in the client, unwrap it, because the proxy cannot sign in"
        )
    return "; ".join(notes)


def _stored(value: Value) -> Any:
    """Return a value for a JSON record, which keeps raw values apart from texts."""
    match value:
        case RawValue(text):
            return {"literal": text}
        case list():
            return [_stored(item) for item in value]
        case dict():
            return {"map": {key: _stored(item) for key, item in value.items()}}
        case _:
            return value


def _loaded(stored: Any) -> Value:
    match stored:
        case {"literal": text}:
            return RawValue(str(text))
        case {"map": dict(members)}:
            return {str(key): _loaded(item) for key, item in members.items()}
        case list():
            return [_loaded(item) for item in stored]
        case _:
            return str(stored)
