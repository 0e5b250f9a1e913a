"""Puts Nacre itself into the files of the clients on this machine, and takes it out again."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Literal

from nacre.core.errors import NacreError
from nacre.core.lazy_dataclasses import dataclass
from nacre.core.own_server_name import OWN, is_own
from nacre.firewall.wrap.added_entry import Addition, with_entry, without_entry
from nacre.firewall.wrap.client_formats import Client, Machine, expanded, files_in_use, own_file_of
from nacre.firewall.wrap.client_servers import reason_without_file
from nacre.firewall.wrap.file_edit import Path, Server, address_of, servers
from nacre.firewall.wrap.own_entry import own_entry, own_file
from nacre.ports.other_programs.config_files import ConfigFiles, WrapRecord, WrapRecords

State = Literal[
    "connected",
    "already connected",
    "in a project",
    "by its plugin",
    "disconnected",
    "not connected",
    "not installed",
    "without hooks",
    "refused",
]

_NEW_FILE = "new file"  # the record's `before`, if the file was created for the entry


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, whether it has Nacre, and the file that says so; `note` is a reason."""

    client: Client
    state: State
    file: str = ""
    note: str = ""
    address: str = ""  # the URL or the command that the client has


class Connector:
    """Changes the files of clients. `url` and `command` are how a client reaches Nacre."""

    def __init__(
        self,
        files: ConfigFiles,
        records: WrapRecords,
        machine: Machine,
        *,
        url: str,
        command: Sequence[str],
        now: Callable[[], datetime],
    ) -> None:
        self._files = files
        self._records = records
        self._machine = machine
        self._url = url
        self._command = command
        self._now = now

    def state(self, client: Client) -> Connection:
        """Return whether a client has Nacre. Nothing is written."""
        files = self._existing(client)
        if not files and not self._is_installed(client):
            return Connection(client, "not installed")
        for file in files:
            try:
                own = _own_server(self._files.read(file), client)
            except NacreError as error:
                return Connection(client, "refused", file, reason_without_file(file, error))
            if own is not None:
                state: State = "in a project" if _is_for_a_project(own, client) else "connected"
                return Connection(client, state, file, address=own.address)
        return Connection(client, "not connected", files[0] if files else self._file(client))

    def connect(self, client: Client, *, rehearse: bool = False, moves: bool = False) -> Connection:
        """Put Nacre into a client's file, which is created if it is missing.

        An entry with another address stays, unless only the program has moved. With `moves`, the
        caller wants this address: an entry that we wrote gets it, and any other is refused.
        """
        now = self.state(client)
        if now.state == "connected":
            return self._renewed(now, rehearse=rehearse, moves=moves)
        if now.state == "refused":
            return now
        file = self._file(client)
        path = (*client.containers[0], OWN)
        is_new = not self._files.find([file])

        def added(text: str) -> str:
            addition = self._addition(text, client, path)
            if not rehearse:
                # Before the file is written: an entry without its record could not be removed
                # byte for byte.
                self._record(client, file, path, addition.added, is_new=is_new)
            return addition.text

        try:
            if rehearse:
                added("" if is_new else self._files.read(file))
            elif is_new:
                self._files.create(file, added(""))
            else:
                self._files.change(file, added)
        except NacreError as error:
            return Connection(client, "refused", file, reason_without_file(file, error))
        return Connection(client, "connected", file)

    def _renewed(self, now: Connection, *, rehearse: bool, moves: bool) -> Connection:
        """Give an entry that is there the new address, if it must have it."""
        client, file = now.client, now.file
        address = address_of(own_entry(client, self._url, self._command), client.shape)
        path = (*client.containers[0], OWN)
        record = self._records.get(file, path)
        is_moved = now.address.partition(" mcp-server")[1:] == address.partition(" mcp-server")[1:]
        is_same = now.address == address
        if is_same or not (moves or (is_moved and " mcp-server" in address and record)):
            note = "" if is_same else now.address
            return Connection(client, "already connected", file, note)
        if record is None:
            note = f"it has Nacre at {now.address}; run 'nacre disconnect {client.name}' first"
            return Connection(client, "refused", file, note)

        def changed(text: str) -> str:
            is_new = record.before == _NEW_FILE and text == record.new
            rest = "" if is_new else without_entry(text, client, path, record.new)
            addition = self._addition(rest, client, path)
            if not rehearse:
                self._record(client, file, path, addition.added, is_new=is_new)
            return addition.text

        try:
            if rehearse:
                changed(self._files.read(file))
            else:
                self._files.change(file, changed)
        except NacreError as error:
            return Connection(client, "refused", file, reason_without_file(file, error))
        return Connection(client, "connected", file)

    def disconnect(self, client: Client, *, rehearse: bool = False) -> Connection:
        """Take Nacre out of a client's file, byte for byte if nothing else changed the entry."""
        before = self.state(client)
        if before.state not in ("connected", "in a project"):
            return before
        file = before.file
        try:
            text = self._files.read(file)
            own = _own_server(text, client)
            if own is None:
                return Connection(client, "not connected", file)
            path = own.path
            record = self._records.get(file, path)
            added = record.new if record is not None else ""
            is_whole = record is not None and record.before == _NEW_FILE and text == added
            if is_whole:
                if not rehearse:
                    self._files.delete(file, text)
            elif rehearse:
                without_entry(text, client, path, added)
            else:
                self._files.change(
                    file, lambda current: without_entry(current, client, path, added)
                )
        except NacreError as error:
            return Connection(client, "refused", file, reason_without_file(file, error))
        if not rehearse:
            self._records.drop(file, path)
        return Connection(client, "disconnected", file)

    def _addition(self, text: str, client: Client, path: Path) -> Addition:
        if client.own_file and not text:
            whole = own_file(client, self._command)
            return Addition(whole, whole)
        return with_entry(text, client, path, own_entry(client, self._url, self._command))

    def _record(self, client: Client, file: str, path: Path, added: str, *, is_new: bool) -> None:
        at = self._now().isoformat(timespec="seconds")
        before = _NEW_FILE if is_new else ""
        self._records.put(WrapRecord(client.name, file, path, "", added, before, at))

    def _existing(self, client: Client) -> list[str]:
        return self._files.find(files_in_use(client, self._machine))

    def _file(self, client: Client) -> str:
        """Return the file that an entry goes to: the first that exists, or whose folder does.

        A variant of a client, such as VSCodium, may have its folder and no such file yet.
        """
        own = own_file_of(client, self._machine)
        if client.own_file:
            return own
        plain = [file for file in files_in_use(client, self._machine) if "*" not in file]
        ready = (
            file
            for file in plain
            if (folder := str(PurePath(file).parent)) != self._machine.home
            and self._files.has_folder(folder)
        )
        return next(iter(self._files.find(plain)), None) or next(ready, own)

    def _is_installed(self, client: Client) -> bool:
        """Tell whether a folder of the client exists; the home folder is nobody's."""
        folders = {str(PurePath(file).parent) for file in files_in_use(client, self._machine)}
        folders |= {*expanded(client.folders, self._machine)}
        return any(self._files.has_folder(folder) for folder in folders - {self._machine.home})


def _own_server(text: str, client: Client) -> Server | None:
    """Return Nacre's entry, one for all projects if there is one, or None."""
    own = [
        server
        for server in (servers(text, client) if text.strip() else ())
        if server.proxy is None and (server.is_ours or is_own(server.name))
    ]
    return min(own, key=lambda server: _is_for_a_project(server, client), default=None)


def _is_for_a_project(server: Server, client: Client) -> bool:
    return server.path[:-1] != client.containers[0]
