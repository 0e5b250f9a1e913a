"""Backups of the laptop's data folder, and folders made of backups."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from nacre import __version__
from nacre.adapters.files.audit import copy_heads, is_head
from nacre.adapters.files.backup_file import BackupFile, Manifest, write_backup
from nacre.adapters.files.private_files import TEMPORARY, private_folder, sync_folder
from nacre.adapters.sqlite.copy import copy_database, count_rows
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import ConflictError, InvalidInputError, NotFoundError, UnavailableError
from nacre.wiring.data_folder import AUDIT, CAPTURE, DATABASE, SECRETS, VAULT

_WITH_THE_STORE = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal")
_OF_THE_MACHINE = ("capture", "serving", "hooks.log", "hooks.log.1")
"""Where hooks have read to, and the servers that run now: valid only on this machine, now."""
_CAPTURE_PREFERENCES = ("pauses", "projects", "words", "is_denied", "being_id", "token_id")
_UNFINISHED = ".nacre-"  # folders that a backup or a restore left when it was killed


def back_up(
    folder: Path,
    target: BinaryIO,
    scratch_parent: Path,
    *,
    with_secrets: bool,
    clock: Clock = system_clock,
) -> Manifest:
    """Write the present content of a data folder while a server runs; return the manifest.

    `scratch_parent` is a folder with room for another copy of the store.
    """
    if not (folder / DATABASE).exists():
        raise NotFoundError(f"{folder} has no store; choose the data folder with --data-dir")
    moment = clock().isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory(prefix=_UNFINISHED, dir=scratch_parent) as scratch:
        copy = Path(scratch, DATABASE)
        # The store is copied before the files, so that every file that it names is in the backup.
        copy_database(folder / DATABASE, copy)
        counts = count_rows(copy)
        # The heads of the audit are copied before its lines, which a server may add to meanwhile.
        heads = copy_heads(folder / AUDIT, Path(scratch))

        def files() -> Iterator[tuple[str, Path]]:
            yield DATABASE, copy
            for name, path in _files(folder, with_secrets=with_secrets):
                if path.parent == folder / AUDIT and is_head(path.name):
                    if path.name in heads:
                        yield name, heads[path.name]
                elif name == CAPTURE:
                    preferences = Path(scratch, CAPTURE)
                    preferences.write_text(_without_consent(path), encoding="utf-8")
                    yield name, preferences
                else:
                    yield name, path

        return write_backup(target, files(), Manifest(moment, __version__, with_secrets, counts))


def check_backup(content: BinaryIO) -> Manifest:
    """Return the manifest of a backup; raise InvalidInputError unless it is whole and unaltered."""
    return BackupFile(content).check()


def restore(folder: Path, content: BinaryIO) -> Manifest:
    """Create a data folder from a checked backup, atomically.

    Raises ConflictError if the folder is not empty.
    """
    backup = BackupFile(content)
    manifest = backup.check()
    if DATABASE not in manifest.parts:
        raise InvalidInputError("the backup has no store in it; is it one of a data folder?")
    folder = folder.expanduser().absolute()
    _check_empty(folder)
    try:
        private_folder(folder.parent)
        scratch = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder.parent))  # 0700
        try:
            backup.unpack(scratch)
            _drop_machine_state(scratch)
            counts = count_rows(scratch / DATABASE)
            if counts != dict(manifest.counts):
                raise UnavailableError(
                    "the store holds other numbers of rows than the backup says"
                    f" ({counts}); nothing was restored"
                )
            _check_empty(folder)
            if folder.exists():
                folder.rmdir()
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        sync_folder(folder.parent)
    except OSError as error:
        raise UnavailableError(
            f"{folder}: cannot be written ({error.strerror}); nothing was restored"
        ) from error
    return manifest


def _without_consent(file: Path) -> str:
    """Return the settings of capturing that hold anywhere: exclusions, pauses and a refusal.

    The consent names a place and may be withdrawn after a backup, and the token is a secret. So
    hooks ask again after a restore. A token of this store can still be revoked by its id.
    """
    try:
        settings = json.loads(file.read_bytes())
        preferences = {name: settings[name] for name in _CAPTURE_PREFERENCES if name in settings}
        is_elsewhere = bool(settings.get("url"))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        # With settings that cannot be read, hooks capture nothing, and say so.
        return "unreadable"
    if is_elsewhere:
        preferences = preferences | {"being_id": "", "token_id": ""}
    return json.dumps({"consented": {}, **preferences}, ensure_ascii=False, indent=1)


def _drop_machine_state(folder: Path) -> None:
    """Drop from an unpacked backup what holds only for the machine; early backups have it."""
    for name in _OF_THE_MACHINE:
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    settings = folder / CAPTURE
    if settings.exists():
        settings.write_text(_without_consent(settings), encoding="utf-8")


def _check_empty(folder: Path) -> None:
    try:
        is_empty = not folder.exists() or not any(folder.iterdir())
    except NotADirectoryError:
        is_empty = False
    if not is_empty:
        raise ConflictError(
            f"{folder} is not empty; move it away, or choose another folder with --data-dir"
        )


def _files(folder: Path, *, with_secrets: bool) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        top = name.partition("/")[0]
        if (
            name in _WITH_THE_STORE
            or path.name.startswith(TEMPORARY)
            or top.startswith(_UNFINISHED)
            or top in _OF_THE_MACHINE
        ):
            continue
        if not with_secrets and top in (VAULT, SECRETS):
            continue
        if path.is_file() and not path.is_symlink():
            yield name, path
