"""Backups of a stack's tables, which DynamoDB keeps, and stacks that are filled from them."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from nacre import __version__
from nacre.core.clock import Clock, system_clock
from nacre.core.errors import ConflictError, InvalidInputError, NewerSchemaError, UnavailableError
from nacre.core.lazy_dataclasses import asdict, dataclass

if TYPE_CHECKING:
    from nacre.wiring.settings import Settings

FORMAT = 1
_TYPE = "nacre-stack-backup"
_TABLES = {"data": "DataTableName", "tokens": "TokensTableName"}
_MARK = ("RESTORE", "RESTORE")  # in a data table that is being filled, with what fills it


@dataclass(frozen=True, slots=True)
class StackBackup:
    """The places of the backups of a stack's tables, and the names of its secrets."""

    made: str
    nacre: str
    stack: str
    key_arn: str
    backups: Mapping[str, str]  # ARNs
    secrets: tuple[str, ...]  # names alone

    def written(self) -> bytes:
        """Return the record that a file holds."""
        return json.dumps({"type": _TYPE, "format": FORMAT, **asdict(self)}, indent=1).encode()


def read_record(content: bytes) -> StackBackup:
    """Return the record in a file; raise InvalidInputError for another file."""
    try:
        fields: dict[str, Any] = json.loads(content)
        if fields["type"] != _TYPE:
            raise InvalidInputError("this is not the record of a stack's backup")
        if (version := int(fields["format"])) > FORMAT:
            raise NewerSchemaError("The backup", version=version, newest=FORMAT)
        backups = {name: str(fields["backups"][name]) for name in _TABLES}
        return StackBackup(
            made=str(fields["made"]),
            nacre=str(fields["nacre"]),
            stack=str(fields["stack"]),
            key_arn=str(fields["key_arn"]),
            backups=backups,
            secrets=tuple(map(str, fields["secrets"])),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError("this is not the record of a stack's backup") from error


def back_up_stack(stack: str, settings: "Settings", *, clock: Clock = system_clock) -> StackBackup:
    """Have DynamoDB keep both tables as they are now, until somebody deletes the backups."""
    from nacre.adapters.aws.dynamodb.table_backups import DynamoBackups
    from nacre.adapters.aws.ssm_secrets import SsmSecrets
    from nacre.wiring.aws import Clients, stack_outputs

    client = Clients(settings)
    outputs = stack_outputs(stack, client)
    backups = DynamoBackups(client("dynamodb"))
    now = clock()
    name = f"{stack}-{now:%Y%m%dT%H%M%SZ}"
    secrets = SsmSecrets(client("ssm"), prefix=f"/nacre/{stack}", key_arn=outputs["KeyArn"])
    return StackBackup(
        made=now.isoformat(timespec="seconds"),
        nacre=__version__,
        stack=stack,
        key_arn=outputs["KeyArn"],
        backups={
            table: backups.make(outputs[output], f"{name}-{table}")
            for table, output in _TABLES.items()
        },
        secrets=tuple(secrets.names()),
    )


def restore_stack(
    record: StackBackup,
    stack: str,
    settings: "Settings",
    report: Callable[[int], None] = lambda done: None,
    *,
    clock: Clock = system_clock,
) -> dict[str, int]:
    """Fill the empty tables of a stack from backups; return how many items each has now.

    Call it again to continue an interrupted restore. Raises ConflictError if the tables hold
    other items.
    """
    from nacre.adapters.aws.dynamodb.table import DynamoTable
    from nacre.adapters.aws.dynamodb.table_backups import DynamoBackups
    from nacre.ports.items.table import SCHEMA, Key
    from nacre.wiring.aws import Clients, stack_outputs

    client = Clients(settings)
    outputs = stack_outputs(stack, client)
    dynamodb = client("dynamodb")
    backups = DynamoBackups(dynamodb)
    data = DynamoTable(dynamodb, outputs["DataTableName"])
    mark = data.get(Key(*_MARK))
    if mark is None:
        for output in _TABLES.values():
            if not backups.is_empty(outputs[output]):
                raise ConflictError(
                    f"the stack {stack!r} keeps something already; restore into a new one"
                )
        data.put({"pk": _MARK[0], "sk": _MARK[1], SCHEMA: 1, "backup": record.backups["data"]})
    elif mark.get("backup") != record.backups["data"]:
        raise ConflictError(
            f"the stack {stack!r} is being filled from another backup; finish that one"
        )
    copied = {}
    for table, output in _TABLES.items():
        unpacked = _beside(outputs[output], record.backups[table])
        backups.unpack(record.backups[table], unpacked)
        copied[table] = backups.copy(unpacked, outputs[output], report, now=clock().timestamp())
        marks = 1 if table == "data" else 0
        # Fewer there may be: DynamoDB removes what expires.
        if backups.count(outputs[output]) > copied[table] + marks:
            raise UnavailableError(
                f"{outputs[output]} has more items than the backup, as if somebody used the stack"
                " meanwhile; stop that, and restore into a new stack"
            )
    for table, output in _TABLES.items():
        backups.drop(_beside(outputs[output], record.backups[table]))
    data.delete(Key(*_MARK))
    return copied


def _beside(table: str, arn: str) -> str:
    """Return the name of the table that a backup is unpacked to, the same at each attempt."""
    return f"{table[:200]}-from-{arn.rpartition('/')[2][-40:]}"
