"""Backups of the laptop's data folder, and folders made of backups."""

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
from nacre.wiring.data_folder import AUDIT, DATABASE, SECRETS, VAULT

_WITH_THE_STORE = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal")
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
        ):
            continue
        if not with_secrets and top in (VAULT, SECRETS):
            continue
        if path.is_file() and not path.is_symlink():
            yield name, path
