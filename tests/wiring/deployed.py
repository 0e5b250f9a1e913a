"""A deployed stack in a fake AWS, as `--stack` finds it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.scaffolding.aws_stack import REGION, data_template

STACK = "nacre-prod"
MCP_URL = "https://nacre.example/mcp"
OUTPUTS: dict[str, Any] = {
    "TokensTableName": {"Ref": "TokensTable"},
    "DataTableName": {"Ref": "DataTable"},
    "QueueUrl": {"Ref": "PatrolQueue"},
    "DeadLetterQueueUrl": {"Ref": "PatrolDeadLetterQueue"},
    "BucketName": {"Ref": "BlobsBucket"},
    "KeyArn": {"Fn::GetAtt": ["NacreKey", "Arn"]},
    # The address is that of an API, which moto's CloudFormation does not know.
    "McpUrl": MCP_URL,
}


@contextmanager
def deployed(
    monkeypatch: pytest.MonkeyPatch,
    outputs: dict[str, Any] | None = None,
    parameters: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """Deploy the data resources with the outputs that the template promises."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_REGION", REGION)
    with mock_aws():
        template = json.loads(data_template())
        declared = OUTPUTS if outputs is None else outputs
        template["Outputs"] = {name: {"Value": value} for name, value in declared.items()}
        known = template.setdefault("Parameters", {})
        known.update({name: {"Type": "String"} for name in parameters or {} if name not in known})
        boto3.Session(region_name=REGION).client("cloudformation").create_stack(
            StackName=STACK,
            TemplateBody=json.dumps(template),
            Parameters=[
                {"ParameterKey": name, "ParameterValue": value}
                for name, value in (parameters or {}).items()
            ],
        )
        yield STACK


def outputs_of(stack: str) -> dict[str, str]:
    """Return the outputs of a deployed stack by name."""
    described = boto3.Session(region_name=REGION).client("cloudformation")
    [description] = described.describe_stacks(StackName=stack)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in description["Outputs"]}
