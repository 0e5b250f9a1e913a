"""The changes to files of clients: one private file for each entry."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nacre.adapters.files.private_files import private_folder, write_private
from nacre.core.errors import StoreError
from nacre.core.lazy_dataclasses import asdict
from nacre.ports.other_programs.config_files import WrapRecord

_SUFFIX = ".json"


class FolderWrapRecords:
    """WrapRecords as files (0600) in one folder (0700), each written atomically."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, file: str, path: tuple[str, ...]) -> WrapRecord | None:
        """Return the record of one entry, or None if there is none or it is damaged."""
        return _read(self._at(file, path))

    def put(self, record: WrapRecord) -> None:
        """Keep a record, in place of the entry's earlier one."""
        content = json.dumps(asdict(record), indent=1).encode()
        try:
            private_folder(self._folder)
            write_private(self._at(record.file, record.path), content)
        except OSError as error:
            raise StoreError(
                f"{self._folder}: what is wrapped cannot be noted ({error.strerror});"
                " make room, or make the folder yours"
            ) from error

    def drop(self, file: str, path: tuple[str, ...]) -> None:
        """Forget an entry's record; it need not be there."""
        with suppress(OSError):  # one that stays says nothing of an entry that is not wrapped
            self._at(file, path).unlink()

    def all(self) -> Iterator[WrapRecord]:
        """Yield every record that can be read."""
        for file in sorted(self._folder.glob(f"*{_SUFFIX}")):
            record = _read(file)
            if record is not None:
                yield record

    def _at(self, file: str, path: tuple[str, ...]) -> Path:
        key = json.dumps([file, *path]).encode()
        return self._folder / f"{hashlib.sha256(key).hexdigest()[:32]}{_SUFFIX}"


def _read(path: Path) -> WrapRecord | None:
    try:
        fields = json.loads(path.read_bytes())
        fields["path"] = tuple(fields["path"])
        return WrapRecord(**fields)
    except (OSError, ValueError, TypeError, KeyError):
        return None
