"""The list in a backup, where somebody else has written it."""

import io
import json
import tarfile

import pytest

from nacre.adapters.files.backup_file import BackupFile
from nacre.core.errors import InvalidInputError

LIST = {
    "type": "nacre-backup",
    "format": 1,
    "made": "now",
    "nacre": "0",
    "has_secrets": False,
    "counts": {},
    "parts": {},
}


def backup(text: str) -> BackupFile:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("backup.json")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text.encode()))
    return BackupFile(content)


def test_a_list_without_parts_is_read() -> None:
    assert backup(json.dumps(LIST)).check().parts == {}


def test_a_part_that_only_says_how_long_it_is_is_refused() -> None:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        entry = tarfile.TarInfo("a")
        entry.pax_headers = {"GNU.sparse.size": str(1 << 60), "GNU.sparse.map": "0,1"}
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"a"))

    with pytest.raises(InvalidInputError, match="'a' is not a file"):
        BackupFile(content).check()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        json.dumps({**LIST, "format": float("inf")}),
        json.dumps({**LIST, "counts": {"scene": float("inf")}}),
        json.dumps({**LIST, "counts": []}),
        json.dumps({**LIST, "parts": {"a": {"size": 1}}}),
    ],
)
def test_a_list_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="its list cannot be read"):
        backup(text).check()
