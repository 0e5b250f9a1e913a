"""What every store of blobs does: files, and S3 with the template's bucket."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from hypothesis import given
from hypothesis import strategies as st

from nacre.adapters import input_checks
from nacre.adapters.aws.s3_blobs import S3Blobs
from nacre.adapters.files.blobs import FileBlobs
from nacre.adapters.input_checks import check_blob_name
from nacre.core.errors import ConfigurationError, InvalidInputError, TooLargeError, UnavailableError
from nacre.ports.blobs import Blobs
from tests.adapters.conftest import StillClock
from tests.scaffolding.aws_stack import Stack


@pytest.fixture(params=["file", "s3"])
def blobs(request: pytest.FixtureRequest, clock: StillClock, tmp_path: Path) -> Blobs:
    if request.param == "file":
        return FileBlobs(tmp_path / "blobs", now=clock)
    stack: Stack = request.getfixturevalue("stack")
    return S3Blobs(stack.s3, stack.ids["BlobsBucket"], kms_key_id=stack.ids["NacreKey"], now=clock)


@pytest.fixture
def name(tmp_path: Path) -> str:
    return f"{tmp_path.name}/run.1/result_2-3.json"


@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"x" * 1_000_000], ids=len)
def test_bytes_come_back_as_they_were_put(blobs: Blobs, name: str, data: bytes) -> None:
    blobs.put(name, data)

    assert blobs.get(name) == data


def test_missing_bytes_are_none(blobs: Blobs, name: str) -> None:
    assert blobs.get(name) is None
    blobs.delete(name)


def test_a_second_put_replaces_the_first(blobs: Blobs, name: str) -> None:
    blobs.put(name, b"a longer first")
    blobs.put(name, b"second")

    assert blobs.get(name) == b"second"


def test_a_deleted_blob_is_gone(blobs: Blobs, name: str) -> None:
    blobs.put(name, b"data")
    blobs.delete(name)

    assert blobs.get(name) is None


def test_a_name_may_go_on_where_another_ends(blobs: Blobs, name: str) -> None:
    blobs.put(name, b"short")
    blobs.put(f"{name}/more", b"long")

    assert (blobs.get(name), blobs.get(f"{name}/more")) == (b"short", b"long")
    assert blobs.get(f"{name}/more/still") is None


def test_a_blob_is_gone_at_its_end(blobs: Blobs, name: str, clock: StillClock) -> None:
    blobs.put(name, b"data", until=clock() + timedelta(seconds=10))
    clock.move(9)
    assert blobs.get(name) == b"data"
    clock.move(1)

    assert blobs.get(name) is None


@pytest.mark.parametrize("days", [None, 30])
def test_no_blob_is_kept_longer_than_a_week(
    blobs: Blobs, name: str, clock: StillClock, days: int | None
) -> None:
    blobs.put(name, b"data", until=clock() + timedelta(days=days) if days else None)
    clock.move(7 * 86400 - 1)
    assert blobs.get(name) == b"data"
    clock.move(1)

    assert blobs.get(name) is None


@pytest.mark.parametrize(
    "bad",
    ["", "/", "a/", "/a", "a//b", "..", "../a", "a/../b", ".", "a/./b", ".hidden", "a\\b", "a b",
     "a\x00", "a\n", "\u00e9", "C:x", "~", "a" * 201, "/".join("a" * 300)],
)  # fmt: skip
def test_a_name_that_could_go_astray_is_refused(blobs: Blobs, bad: str) -> None:
    with pytest.raises(InvalidInputError, match="the name of a blob"):
        blobs.put(bad, b"data")
    with pytest.raises(InvalidInputError, match="the name of a blob"):
        blobs.get(bad)
    with pytest.raises(InvalidInputError, match="the name of a blob"):
        blobs.delete(bad)


@given(st.text(alphabet="ab./\\-_\x00~:", max_size=12))
def test_no_accepted_name_leaves_its_folder(name: str) -> None:
    try:
        check_blob_name(name)
    except InvalidInputError:
        return
    assert os.path.normpath(f"/base/{name}") == f"/base/{name}"


def test_a_blob_that_is_too_large_is_refused(
    blobs: Blobs, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_checks, "MAX_BLOB_BYTES", 10)

    with pytest.raises(TooLargeError, match="larger than 10 bytes"):
        blobs.put(name, b"x" * 11)
    assert blobs.get(name) is None


# Files


def test_files_and_folders_are_private(tmp_path: Path, clock: StillClock) -> None:
    folder = tmp_path / "blobs"
    FileBlobs(folder, now=clock).put("a/b/c", b"data")

    modes = {path.relative_to(folder): path.stat().st_mode & 0o777 for path in folder.rglob("*")}
    assert modes == {
        Path("a.d"): 0o700,
        Path("a.d/b.d"): 0o700,
        Path("a.d/b.d/c.blob"): 0o600,
    }


def test_a_write_that_fails_leaves_the_old_file_and_no_rubbish(
    tmp_path: Path, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = FileBlobs(tmp_path, now=clock)
    blobs.put("a", b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnavailableError, match="No space left on device"):
        blobs.put("a", b"new")

    assert blobs.get("a") == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.blob"]


def test_files_whose_time_is_over_are_removed_by_a_later_write(
    tmp_path: Path, clock: StillClock
) -> None:
    blobs = FileBlobs(tmp_path, now=clock)
    blobs.put("old", b"data", until=clock() + timedelta(hours=1))
    blobs.put("kept", b"data")
    (tmp_path / "foreign.txt").write_text("short")
    (tmp_path / ".new-abandoned").write_text("half a fi")
    os.utime(tmp_path / ".new-abandoned", (0, 0))
    (tmp_path / ".new-busy").write_text("being written")

    clock.move(7200)
    blobs.put("new", b"data")

    assert {path.name for path in tmp_path.iterdir()} == {
        "kept.blob", "new.blob", "foreign.txt", ".new-busy",
    }  # fmt: skip


def test_a_folder_that_cannot_be_used_is_a_clear_error(tmp_path: Path, clock: StillClock) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(UnavailableError, match="files cannot be read or written here"):
        FileBlobs(tmp_path / "file", now=clock).put("a", b"data")


# S3


def test_objects_are_encrypted_under_the_stacks_key(
    stack: Stack, name: str, clock: StillClock
) -> None:
    bucket, key = stack.ids["BlobsBucket"], stack.ids["NacreKey"]
    S3Blobs(stack.s3, bucket, kms_key_id=key, now=clock).put(name, b"data")

    head = stack.s3.head_object(Bucket=bucket, Key=name)
    assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", key)


def test_what_s3_may_not_list_and_has_not_is_missing(clock: StillClock) -> None:
    class Refusing:
        def get_object(self, **_: Any) -> None:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "GetObject")

        def delete_object(self, **_: Any) -> None:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "DeleteObject")

    client: Any = Refusing()
    blobs = S3Blobs(client, "bucket", kms_key_id="key", now=clock)

    assert blobs.get("b/gone") is None
    with pytest.raises(UnavailableError, match="AccessDenied"):
        blobs.delete("b/gone")


def test_a_bucket_that_is_not_there_is_named(stack: Stack, name: str) -> None:
    with pytest.raises(ConfigurationError, match="bucket missing does not exist"):
        S3Blobs(stack.s3, "missing", kms_key_id="k").put(name, b"data")


def test_a_folder_is_deleted_with_all_that_is_in_it(blobs: Blobs, name: str) -> None:
    folder = name.partition("/")[0]
    others = [f"{folder}x/result.json", f"{folder}.json"]
    for each in (name, f"{folder}/a", f"{folder}/b/c/d", *others):
        blobs.put(each, b"data")

    blobs.delete_all(folder)
    blobs.delete_all(folder)

    assert [blobs.get(each) for each in (name, f"{folder}/a", f"{folder}/b/c/d")] == [None] * 3
    assert [blobs.get(each) for each in others] == [b"data"] * 2


HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nx-amz-meta-nacre-until: 9999999999\r\n"
    b"Connection: close\r\n"
)


@contextmanager
def answering(answer: bytes, *, hanging: bool = False) -> Iterator[str]:
    """Serve one request on loopback with exactly these bytes, and yield the URL."""
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)
                if hanging:
                    done.wait(60)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


@pytest.mark.parametrize(
    ("answer", "hanging", "what"),
    [
        (HEAD + b"\r\nhalf", False, "ResponseStreamingError"),
        (HEAD + b"\r\nhalf", True, "ReadTimeoutError"),
        (
            HEAD + b"x-amz-checksum-crc32: AAAAAA==\r\n\r\nten bytes.",
            False,
            "FlexibleChecksumError",
        ),
    ],
    ids=["cut off", "hanging", "damaged"],
)
def test_a_blob_that_does_not_arrive_whole_is_unavailable(
    answer: bytes, hanging: bool, what: str
) -> None:
    with answering(answer, hanging=hanging) as url:
        client = boto3.Session("test", "test", region_name="eu-central-1").client(
            "s3",
            endpoint_url=url,
            config=Config(read_timeout=0.5, retries={"total_max_attempts": 1}),
        )

        with pytest.raises(UnavailableError, match=rf"get_object does not answer now \({what}\)"):
            S3Blobs(client, "bucket", kms_key_id="k").get("a")
