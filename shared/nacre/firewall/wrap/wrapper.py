"""Wrap and unwrap servers in the files of the clients that are here."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from shlex import quote
from typing import Any
from typing import Literal as Choice

from nacre.core.errors import ConfigurationError, InvalidInputError, NacreError
from nacre.firewall.wrap.base_folder import joined_note, proposed_base, with_certain
from nacre.firewall.wrap.client_formats import Client
from nacre.firewall.wrap.client_servers import Found, without
from nacre.firewall.wrap.command_line import Launcher, Proxied
from nacre.firewall.wrap.config_tree import Literal, Value
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
from nacre.ports.config_files import ConfigFiles, WrapRecord, WrapRecords

Result = Choice["wrapped", "renewed", "already wrapped", "unwrapped", "not wrapped", "refused"]

_TOKENS = ("bearer_token_env_var", "env_http_headers", "apiKey")
_APPROVING = ("autoApprove", "alwaysAllow", "trust")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a server; `note` says why, or what to know."""

    client: Client
    file: str
    path: Path
    result: Result
    note: str = ""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one file's servers, with its text before and after."""

    outcomes: tuple[Outcome, ...]
    before: str = ""
    after: str = ""


class Wrapper:
    """What changes the clients' files."""

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

    def wrap(self, chosen: Sequence[Found], *, rehearse: bool = False, name: str = "") -> Done:
        """Put the proxy before servers of one file; rules call them by `name`, or their own."""
        return self._change(chosen, partial(self._wrapped, name=name), rehearse=rehearse)

    def unwrap(self, chosen: Sequence[Found], *, rehearse: bool = False) -> Done:
        """Take the proxy away from servers of one file."""
        done = self._change(chosen, self._unwrapped, rehearse=rehearse)
        if not rehearse:
            for outcome in done.outcomes:
                if outcome.result in ("unwrapped", "not wrapped"):
                    self._records.drop(outcome.file, outcome.path)
        return done

    def _change(
        self,
        chosen: Sequence[Found],
        step: Callable[[str, Found, bool], tuple[str, Outcome]],
        *,
        rehearse: bool,
    ) -> Done:
        """Change one file for several servers at once; what one refuses, the others do not."""
        last: list[Done] = []

        def change(text: str) -> str | None:
            changed = text
            outcomes = []
            for found in chosen:
                try:
                    changed, outcome = step(changed, found, rehearse)
                except InvalidInputError as error:
                    outcome = _outcome(found, "refused", str(error))
                outcomes.append(outcome)
            last[:] = [Done(tuple(outcomes), text, changed)]
            return None if changed == text else changed

        file = chosen[0].file
        try:
            if rehearse:
                change(self._files.read(file))
            else:
                self._files.change(file, change)
        except NacreError as error:
            reason = without(file, error)
            return Done(tuple(_outcome(found, "refused", reason) for found in chosen))
        return last[0]

    def _wrapped(
        self, text: str, found: Found, rehearse: bool, *, name: str
    ) -> tuple[str, Outcome]:
        server, launcher = _server(text, found), self._launcher
        by_hand = ""
        if server.proxy is not None:
            if _is_as_wanted(server.proxy, self._launcher, name):
                return text, _outcome(found, "already wrapped")
            bare, by_hand = self._without_proxy(text, found)
            launcher = launcher.like(server.proxy)
            name = name or server.proxy.first("--name")
        elif server.is_ours:
            return text, _outcome(found, "already wrapped", "it is Nacre itself")
        else:
            bare = text
        change = wrap_text(bare, found.client, server.path, launcher, name)
        if not rehearse:
            # Before the file is written: a crash in between leaves a note of what is not there,
            # never a wrapped entry without its note.
            self._records.put(
                WrapRecord(
                    found.client.name,
                    found.file,
                    server.path,
                    by_hand or change.old,  # a proxy that its owner wrote comes back as it was
                    change.new,
                    json.dumps(_stored(dict(change.before))),
                    self._now().isoformat(timespec="seconds"),
                )
            )
        result: Result = "wrapped" if server.proxy is None else "renewed"
        notes = (_note(change.before, found.client), _base_note(change.before, found, launcher))
        return change.text, _outcome(found, result, "; ".join(filter(None, notes)))

    def _unwrapped(self, text: str, found: Found, rehearse: bool) -> tuple[str, Outcome]:
        del rehearse
        if _server(text, found).proxy is None:
            return text, _outcome(found, "not wrapped")
        bare, note = self._bare(text, found)
        return bare, _outcome(found, "unwrapped", note)

    def _without_proxy(self, text: str, found: Found) -> tuple[str, str]:
        """Return the text without any proxy, and the entry that its owner wrote with one."""
        path = found.server.path
        before, _ = self._bare(text, found)
        if self._records.get(found.file, path) is None:
            return before, entry_text(text, found.client, path)
        if _server(before, found).proxy is None:
            return before, ""
        bare = unwrap_text(before, found.client, path, None).text
        return bare, entry_text(before, found.client, path)

    def _bare(self, text: str, found: Found) -> tuple[str, str]:
        """Return the text without a server's proxy, and what is to be known of it."""
        path = found.server.path
        record = self._records.get(found.file, path)
        if record is not None:
            restored = restored_text(text, found.client, path, record.old, record.new)
            if restored is not None:
                return restored, ""
        before = None if record is None else _loaded(json.loads(record.before))
        known = before if isinstance(before, dict) else None
        change = unwrap_text(text, found.client, path, known)
        if record is None:
            return change.text, "what it was is not noted here; its command is the proxy's"
        return change.text, "its entry was changed since; what was changed stays"


def _server(text: str, found: Found) -> Server:
    """Return the server as it is now; it may have changed since it was looked for."""
    for server in servers(text, found.client):
        if server.path == found.server.path:
            return server
    raise ConfigurationError("it is no longer there")


def _outcome(found: Found, result: Result, note: str = "") -> Outcome:
    return Outcome(found.client, found.file, found.server.path, result, note)


def _is_as_wanted(proxy: Proxied, launcher: Launcher, name: str) -> bool:
    bases = tuple(proxy.all("--base"))
    wanted = launcher.for_server(proxy.inner or (), "").bases
    if bases and not launcher.bases:
        wanted = bases
    return (
        proxy.program == launcher.program
        and name in ("", proxy.first("--name"))
        and bases == wanted
        and all(proxy.first(option) == value for option, value in launcher.pairs())
    )


def _base_note(before: Mapping[str, Value], found: Found, launcher: Launcher) -> str:
    """Return where the server's relative paths begin, or how to declare it."""
    line = command_line(before, found.client.shape)
    proposed = proposed_base(line or (), folder_of(before), launcher.home)
    if declared := launcher.declared():
        missing = with_certain(declared, proposed, launcher.home)[1]
        return joined_note(missing) if missing else ""
    folders = ", ".join(proposed.folders)
    if proposed.is_certain:
        return f"its relative paths begin at {folders}, as its arguments say"
    if not folders:
        return ""
    options = " ".join(f"--base {quote(each)}" for each in proposed.folders)
    return (
        f"relative paths are asked about; if it resolves them from {folders}, run "
        f"'nacre wrap {quote(found.server.name)} {options}'"
    )


def _note(entry: Mapping[str, Value], client: Client) -> str:
    """Return what to know of a server that is wrapped now."""
    notes = [
        f"the client asks less for it ('{key}'); the policy decides all the same"
        for key in _APPROVING
        if entry.get(key) not in (None, [], Literal("false"), Literal("null"))
    ]
    if client.shape.urls_in(entry) and not entry.keys() & {client.shape.headers[0], *_TOKENS}:
        notes.append("if you signed in to it in the client, unwrap it: the proxy cannot do that")
    return "; ".join(notes)


def _stored(value: Value) -> Any:
    """Return a value as JSON keeps it, numbers and the like told apart from texts."""
    match value:
        case Literal(text):
            return {"literal": text}
        case list():
            return [_stored(each) for each in value]
        case dict():
            return {"map": {key: _stored(each) for key, each in value.items()}}
        case _:
            return value


def _loaded(stored: Any) -> Value:
    match stored:
        case {"literal": text}:
            return Literal(str(text))
        case {"map": dict(members)}:
            return {str(key): _loaded(each) for key, each in members.items()}
        case list():
            return [_loaded(each) for each in stored]
        case _:
            return str(stored)
