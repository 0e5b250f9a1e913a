"""The data resources that template.yaml declares, created in moto."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import boto3
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from moto.dynamodb.models import dynamodb_backends

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

TEMPLATE = Path(__file__).parents[2] / "template.yaml"
REGION = "eu-central-1"
STACK = "nacre-test"
# What moto's CloudFormation knows of the template; it fails on the rest.
_KEPT = {
    "AWS::DynamoDB::Table",
    "AWS::KMS::Key",
    "AWS::S3::Bucket",
    "AWS::SQS::Queue",
}


@dataclass(frozen=True, slots=True)
class Stack:
    """Clients of a fake AWS, and the physical ids of the stack's resources in it."""

    dynamodb: "DynamoDBClient"
    sqs: "SQSClient"
    s3: "S3Client"
    kms: "KMSClient"
    ids: dict[str, str]

    def clear(self, table: str) -> None:
        """Remove a table's items: moto copies all of them for every transaction."""
        dynamodb_backends[DEFAULT_ACCOUNT_ID][REGION].tables[self.ids[table]].items.clear()


@contextmanager
def aws_stack(name: str = STACK) -> Iterator[Stack]:
    """Deploy the data resources of template.yaml to a fake AWS of this process.

    A fake AWS inside another one is the same one, so that there the name must differ.
    """
    with mock_aws():
        session = boto3.Session(
            aws_access_key_id="test",
            aws_secret_access_key="test",
            region_name=REGION,
        )
        cloudformation = session.client("cloudformation")
        cloudformation.create_stack(StackName=name, TemplateBody=data_template())
        rows = cloudformation.describe_stack_resources(StackName=name)["StackResources"]
        dynamodb = session.client("dynamodb")
        one_at_a_time(dynamodb)
        yield Stack(
            dynamodb=dynamodb,
            sqs=session.client("sqs"),
            s3=session.client("s3"),
            kms=session.client("kms"),
            ids={row["LogicalResourceId"]: row["PhysicalResourceId"] for row in rows},
        )


def one_at_a_time(client: Any) -> None:
    """Let requests of several threads wait for each other.

    DynamoDB checks a condition and writes in one step; moto does not, so that two would pass.
    """
    call, turn = client._make_api_call, Lock()

    def in_turn(*arguments: Any) -> Any:
        with turn:
            return call(*arguments)

    client._make_api_call = in_turn


@cache
def data_template() -> str:
    """Return what template.yaml declares of the resources that moto knows, and what they refer to.

    SAM's transform leaves them as they are written.
    """
    from samtranslator.yaml_helper import yaml_parse

    declared: dict[str, Any] = yaml_parse(TEMPLATE.read_text(encoding="utf-8"))
    resources = {
        name: resource
        for name, resource in declared["Resources"].items()
        if resource["Type"] in _KEPT
    }
    for resource in resources.values():
        resource["Properties"].pop("Tags", None)  # moto misreads those of a key
    conditions = _named_in(resources, declared["Conditions"])
    parameters = _named_in([resources, conditions], declared["Parameters"])
    return json.dumps({"Parameters": parameters, "Conditions": conditions, "Resources": resources})


def _named_in(declared: Any, names: dict[str, Any]) -> dict[str, Any]:
    """Return those entries whose names occur in what is declared."""
    text = json.dumps(declared)
    return {
        name: entry
        for name, entry in names.items()
        if f'"{name}"' in text or f"${{{name}}}" in text
    }
