"""Hooks put into clients' files, and taken out again byte for byte."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

from nacre.core.errors import ConfigurationError, NacreError
from nacre.firewall.wrap.client_formats import Client, Machine, expanded
from nacre.firewall.wrap.client_servers import reason_without_file
from nacre.firewall.wrap.connector import Connection
from nacre.firewall.wrap.hooks.formats import (
    HOOK_FILES,
    PLUGIN_CLIENT,
    HookFile,
    has_hooks,
    has_plugin,
    has_these_hooks,
    hook_programs,
    is_own_text,
    with_hooks,
    without_hooks,
)
from nacre.ports.other_programs.config_files import ConfigFiles, WrapRecord, WrapRecords

_PATH = ("hooks",)
_NEW_FILE = "null"  # of a record: the file did not exist before


class HookConnector:
    """Changes the files with hooks of clients; `command` starts Nacre."""

    def __init__(
        self,
        files: ConfigFiles,
        records: WrapRecords,
        machine: Machine,
        *,
        command: Sequence[str],
        now: Callable[[], datetime],
    ) -> None:
        self._files = files
        self._records = records
        self._machine = machine
        self._command = command
        self._now = now

    def connect(self, client: Client, *, rehearse: bool = False) -> Connection:
        """Put the hooks into a client's files; hooks of an earlier version are replaced."""
        if (plugin := self.plugin(client)) is not None:
            return plugin
        result = Connection(client, "without hooks")
        for file in HOOK_FILES.get(client.name, ()):
            path = self._path(file)
            try:
                before = self._text(path)
                if before is not None and self._is_current(client, file, before):
                    result = Connection(client, "already connected", path)
                    continue
                rest, is_new = self._without(file, path, before)
                after = with_hooks(rest, file, client.name, self._command)
                if not rehearse:
                    self._write(client, path, before, after, None if is_new else rest)
            except NacreError as error:
                return Connection(client, "refused", path, reason_without_file(path, error))
            result = Connection(client, "connected", path)
        return result

    def plugin(self, client: Client) -> Connection | None:
        """Return that a client has a plugin which brings the server and the hooks, if it has."""
        for file in HOOK_FILES.get(client.name, ()) if client.name == PLUGIN_CLIENT else ():
            path = self._path(file)
            with suppress(NacreError):
                if has_plugin(self._text(path) or ""):
                    return Connection(client, "by its plugin", path)
        return None

    def programs(self, client: Client) -> Connection:
        """Return whether a client has the hooks; `address` is a program that they start."""
        for file in HOOK_FILES.get(client.name, ()):
            path = self._path(file)
            try:
                text = self._text(path)
                if text is None or not self._is_ours(file, path, text):
                    continue
                if programs := hook_programs(text, file):
                    return Connection(client, "connected", path, address=programs[0])
            except NacreError as error:
                return Connection(client, "refused", path, reason_without_file(path, error))
        return Connection(client, "not connected")

    def disconnect(self, client: Client, *, rehearse: bool = False) -> Connection:
        """Take the hooks out of a client's files."""
        result = Connection(client, "not connected")
        for file in HOOK_FILES.get(client.name, ()):
            path = self._path(file)
            try:
                text = self._text(path)
                record = self._records.get(path, _PATH)
                if text is None or not self._is_ours(file, path, text):
                    continue
                if not rehearse:
                    self._remove(file, path, text, record)
                    self._records.drop(path, _PATH)
            except NacreError as error:
                return Connection(client, "refused", path, reason_without_file(path, error))
            result = Connection(client, "disconnected", path)
        return result

    def _path(self, file: HookFile) -> str:
        path = next(iter(expanded((file.path,), self._machine)))
        return next(iter(self._files.find([path])), path)  # the file itself, if it is a link

    def _text(self, path: str) -> str | None:
        return self._files.read(path) if self._files.find([path]) else None

    def _is_ours(self, file: HookFile, path: str, text: str) -> bool:
        record = self._records.get(path, _PATH)
        if record is not None and record.new == text:
            return True
        return is_own_text(text, file) if file.style == "own" else has_hooks(text)

    def _is_current(self, client: Client, file: HookFile, text: str) -> bool:
        if file.style != "own" and not has_hooks(text):
            return False
        return has_these_hooks(text, file, client.name, self._command)

    def _without(self, file: HookFile, path: str, before: str | None) -> tuple[str, bool]:
        """Return the text of a file without our hooks, and whether it began with them."""
        if before is None:
            return "", True
        record = self._records.get(path, _PATH)
        if record is not None and record.new == before:
            return record.old, record.before == _NEW_FILE
        if file.style == "own":
            if not is_own_text(before, file):
                raise ConfigurationError("somebody else has written this file")
            return "", True
        if not has_hooks(before):
            return before, False
        rest = without_hooks(before)
        return rest or "", rest is None and record is not None and record.before == _NEW_FILE

    def _write(
        self, client: Client, path: str, before: str | None, after: str, rest: str | None
    ) -> None:
        """Write the file; `rest` is its text without hooks, None if it has nothing else."""
        at = self._now().isoformat(timespec="seconds")
        # Before the file: a change without its record could not be taken back byte for byte.
        old, is_new = ("", _NEW_FILE) if rest is None else (rest, "")
        self._records.put(WrapRecord(client.name, path, _PATH, old, after, is_new, at))
        if before is None:
            self._files.create(path, after)
            return

        def changed(current: str) -> str:
            if current != before:
                raise ConfigurationError("somebody else is changing it; try again")
            return after

        self._files.change(path, changed)

    def _remove(self, file: HookFile, path: str, text: str, record: WrapRecord | None) -> None:
        is_own = file.style == "own"
        if record is not None and record.new == text:
            rest = None if record.before == _NEW_FILE else record.old
        elif is_own:
            rest = None
        else:
            rest = without_hooks(text)
        if rest is None and (is_own or (record is not None and record.before == _NEW_FILE)):
            self._files.delete(path, text)
        else:
            self._files.change(path, lambda _: rest if rest is not None else "{}\n")
