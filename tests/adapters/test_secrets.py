"""The behaviour of every store of secrets."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from nacre.adapters.aws.ssm_secrets import SsmSecrets
from nacre.adapters.files.secrets import FileSecrets
from nacre.core.errors import InvalidInputError, StoreError, UnavailableError
from nacre.core.limits import MAX_SECRET_BYTES
from nacre.ports.secrets import Secrets

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


@pytest.fixture(params=["files", "ssm"])
def secrets(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Secrets]:
    if request.param == "files":
        yield FileSecrets(tmp_path / "secrets")
        return
    with mock_aws():
        yield SsmSecrets(client(), prefix="/nacre/prod", key_arn="alias/aws/ssm")


def client() -> "SSMClient":
    return boto3.Session("test", "test", region_name="eu-central-1").client("ssm")


def test_a_secret_is_kept_until_it_is_unset(secrets: Secrets) -> None:
    secrets.set("OPENAI_API_KEY", "sesame")

    assert secrets.get("OPENAI_API_KEY") == "sesame"
    assert secrets.unset("OPENAI_API_KEY") is True
    assert secrets.get("OPENAI_API_KEY") is None


def test_setting_again_replaces(secrets: Secrets) -> None:
    secrets.set("A", "one")
    secrets.set("A", "two")

    assert secrets.get("A") == "two"
    assert secrets.names() == ["A"]


def test_what_was_never_set_is_absent(secrets: Secrets) -> None:
    assert secrets.get("A") is None
    assert secrets.unset("A") is False
    assert secrets.names() == []


def test_names_come_in_order_however_many(secrets: Secrets) -> None:
    names = [f"NAME_{number:02}" for number in range(23)]
    for name in reversed(names):
        secrets.set(name, "value")

    assert secrets.names() == names


@pytest.mark.parametrize("value", ["a\nb\r\n", "ключ ✓", "x" * MAX_SECRET_BYTES, "{{template}}"])
def test_any_text_comes_back_as_it_was(secrets: Secrets, value: str) -> None:
    secrets.set("A", value)

    assert secrets.get("A") == value


HOSTILE = [
    "", ".", "..", "../A", "A/../../B", "/etc/passwd", "A/B", "A/", "..\\A", "C:\\A", "C:A", "A\0",
    "A\n", ".new-A", "~", "-A", "1A", "A B", "\u0410", "A" * 65,
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_name_that_could_go_astray_is_refused(secrets: Secrets, name: str) -> None:
    for attempt in (secrets.get, secrets.unset, lambda name: secrets.set(name, "sesame")):
        with pytest.raises(InvalidInputError, match="a secret's name has 1 to 64") as error:
            attempt(name)
        assert "sesame" not in str(error.value)


@given(st.text(alphabet="Ab0./\\-_\x00~:", max_size=8))
def test_no_secret_is_read_or_written_outside_its_folder(name: str) -> None:
    with TemporaryDirectory() as place:
        folder, outside = Path(place, "secrets"), Path(place, "A")
        outside.write_text("of somebody else")
        with contextlib.suppress(InvalidInputError):
            FileSecrets(folder).set(name, "mine")
            assert [path.name for path in folder.iterdir()] == [name]
        with contextlib.suppress(InvalidInputError):
            assert FileSecrets(folder).get(name) in (None, "mine")
            FileSecrets(folder).unset(name)

        assert outside.read_text() == "of somebody else"
        assert set(Path(place).iterdir()) <= {folder, outside}


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are not in the mode there")
def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    FileSecrets(tmp_path / "secrets").set("A", "sesame")

    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "secrets").iterdir()}
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700
    assert modes == {0o600}


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("in the way")

    with pytest.raises(StoreError, match="secrets cannot be read or written"):
        FileSecrets(tmp_path / "secrets").set("A", "sesame")


def test_a_damaged_file_says_which_command_repairs_it(tmp_path: Path) -> None:
    secrets = FileSecrets(tmp_path)
    (tmp_path / "A").write_bytes(b"\xff\xfe")

    with pytest.raises(StoreError, match="nacre secret set"):
        secrets.get("A")


def test_parameters_are_encrypted_by_the_key_of_the_stack() -> None:
    with mock_aws():
        SsmSecrets(client(), prefix="/nacre/prod", key_arn="alias/mine").set("A", "sesame")

        described = client().describe_parameters()["Parameters"]

    assert [(p["Name"], p["Type"], p["KeyId"]) for p in described] == [
        ("/nacre/prod/A", "SecureString", "alias/mine")
    ]


def test_two_stacks_do_not_see_each_others_secrets() -> None:
    with mock_aws():
        SsmSecrets(client(), prefix="/nacre/prod", key_arn="alias/aws/ssm").set("A", "sesame")

        assert SsmSecrets(client(), prefix="/nacre/dev", key_arn="alias/aws/ssm").names() == []


def test_an_aws_that_does_not_answer_is_unavailable_and_quotes_nothing() -> None:
    session = boto3.Session("test", "test", region_name="eu-central-1")
    nobody = session.client("ssm", endpoint_url="http://127.0.0.1:1")

    with pytest.raises(UnavailableError) as error:
        SsmSecrets(nobody, prefix="/nacre/prod", key_arn="k", sleep=lambda _: None).set(
            "A", "sesame"
        )

    assert "sesame" not in str(error.value)
