"""The commands `nacre backup --stack` and `nacre restore --stack`."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from nacre.adapters.aws.dynamodb.table_backups import DynamoBackups
from nacre.core.errors import UnavailableError
from tests.cli.conftest import Nacre
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import OUTPUTS, STACK, deployed

OTHER = "nacre-other"


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    with deployed(monkeypatch):
        yield ["--stack", STACK]


def other_stack() -> list[str]:
    """Deploy another stack beside the first, under its own names."""
    from tests.scaffolding.aws_stack import data_template

    template = json.loads(data_template().replace("-patrol", "-other-patrol"))
    template["Outputs"] = {name: {"Value": value} for name, value in OUTPUTS.items()}
    boto3.client("cloudformation", region_name=REGION).create_stack(
        StackName=OTHER, TemplateBody=json.dumps(template)
    )
    return ["--stack", OTHER]


def tables() -> list[str]:
    found: list[str] = boto3.client("dynamodb", region_name=REGION).list_tables()["TableNames"]
    return found


def items(stack: str, output: str) -> list[dict[str, Any]]:
    client = boto3.client("cloudformation", region_name=REGION)
    [described] = client.describe_stacks(StackName=stack)["Stacks"]
    [name] = [each["OutputValue"] for each in described["Outputs"] if each["OutputKey"] == output]
    found = boto3.client("dynamodb", region_name=REGION).scan(TableName=name)["Items"]
    return sorted(found, key=lambda item: (item["pk"]["S"], item["sk"]["S"]))


@pytest.fixture
def kept(nacre: Nacre, options: list[str]) -> None:
    for name in ("Ann", "Bob"):
        nacre("being", "create", name, *options)
    nacre("token", "create", "--being", "Ann", "--scope", "full", *options)


def test_a_new_stack_is_filled_from_a_backup_of_the_old(
    nacre: Nacre, options: list[str], kept: None, tmp_path: Path
) -> None:
    file = tmp_path / "backup.json"
    made = nacre("backup", str(file), *options)
    nacre("being", "create", "Later", *options)
    there = other_stack()
    before = tables()

    restored = nacre("restore", str(file), *there, "--json")

    assert made.code == 0, made.err
    assert len(made.out.splitlines()) == 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert restored.json() | {"made": ""} == {
        "stack": OTHER, "from": STACK, "made": "", "data": 4, "tokens": 1,
    }  # fmt: skip
    names = [each["name"] for each in nacre("being", "list", "--json", *there).json()]
    assert sorted(names) == ["Ann", "Bob"]
    assert items(OTHER, "TokensTableName") == items(STACK, "TokensTableName")
    assert not [item for item in items(OTHER, "DataTableName") if item["pk"]["S"] == "RESTORE"]
    assert tables() == before  # what it was unpacked to is gone


def test_a_stack_that_keeps_something_is_left_alone(
    nacre: Nacre, options: list[str], kept: None, tmp_path: Path
) -> None:
    file = tmp_path / "backup.json"
    nacre("backup", str(file), *options)

    refused = nacre("restore", str(file), *options)

    assert refused.code == 5
    assert "keeps something already" in refused.err


def test_a_restore_that_broke_off_goes_on(
    nacre: Nacre,
    options: list[str],
    kept: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, later = tmp_path / "backup.json", tmp_path / "later.json"
    for each in (file, later):
        nacre("backup", str(each), *options)
    there = other_stack()
    write = DynamoBackups._write
    written: list[dict[str, Any]] = []

    def fails_once(self: DynamoBackups, table: str, some: list[dict[str, Any]]) -> None:
        if not written:
            written.append(some[0])
            write(self, table, some[:1])
            raise UnavailableError("AWS batch_write_item does not answer now (test)")
        write(self, table, some)

    monkeypatch.setattr(DynamoBackups, "_write", fails_once)
    broken = nacre("restore", str(file), *there)
    another = nacre("restore", str(later), *there)
    again = nacre("restore", str(file), *there)

    assert (broken.code, another.code, again.code) == (4, 5, 0), again.err
    assert "from another backup" in another.err
    assert items(OTHER, "DataTableName") == items(STACK, "DataTableName")


def test_somebody_who_writes_meanwhile_is_found_out(
    nacre: Nacre,
    options: list[str],
    kept: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "backup.json"
    nacre("backup", str(file), *options)
    there = other_stack()
    copy = DynamoBackups.copy

    def joined(self: DynamoBackups, source: str, target: str, *others: Any, **more: Any) -> int:
        nacre("being", "create", "Uninvited", *there)
        return copy(self, source, target, *others, **more)

    monkeypatch.setattr(DynamoBackups, "copy", joined)
    done = nacre("restore", str(file), *there)

    assert done.code == 4
    assert "as if somebody used the stack meanwhile" in done.err


def test_what_has_expired_is_left_behind(
    nacre: Nacre, options: list[str], kept: None, tmp_path: Path
) -> None:
    client = boto3.client("dynamodb", region_name=REGION)
    [name] = [each for each in tables() if "DataTable" in each]
    old = {"pk": {"S": "X"}, "sk": {"S": "X"}, "schema": {"N": "1"}, "expires_at": {"N": "1000"}}
    client.put_item(TableName=name, Item=old)
    file = tmp_path / "backup.json"
    nacre("backup", str(file), *options)
    there = other_stack()

    assert nacre("restore", str(file), *there, "--json").json()["data"] == 4


def test_secrets_are_named_and_not_written(
    nacre: Nacre, options: list[str], kept: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boto3.client("ssm", region_name=REGION).put_parameter(
        Name=f"/nacre/{STACK}/QDRANT_API_KEY", Value="sk-hidden", Type="SecureString"
    )
    file = tmp_path / "backup.json"

    made = nacre("backup", str(file), *options)

    assert "The backup does not include the secrets QDRANT_API_KEY." in made.err
    assert b"sk-hidden" not in file.read_bytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no json", "not the record"),
        (b'{"type": "nacre-stack-backup", "format": 1}', "not the record"),
        (b'{"type": "nacre-stack-backup", "format": 2}', "written by a newer Nacre"),
        (b"[]", "not the record"),
    ],
)
def test_a_file_that_is_no_record_is_refused(
    nacre: Nacre, options: list[str], tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "backup.json"
    file.write_bytes(content)

    done = nacre("restore", str(file), *options)

    assert done.code != 0
    assert said in done.err


def test_a_backup_that_was_deleted_is_named(
    nacre: Nacre, options: list[str], kept: None, tmp_path: Path
) -> None:
    file = tmp_path / "backup.json"
    arns = nacre("backup", str(file), "--json", *options).json()["backups"]
    boto3.client("dynamodb", region_name=REGION).delete_backup(BackupArn=arns["data"])

    done = nacre("restore", str(file), *other_stack())

    assert done.code == 3
    assert arns["data"] in done.err
