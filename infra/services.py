"""The data services of the stack on this machine, for `sam local start-api`.

python -m infra.services keeps them until Ctrl-C. Names are fixed, and infra/local.json
tells them to the functions. Nothing is kept when it ends.
"""

import json
import signal
import sys
from contextlib import suppress
from typing import Any

import boto3  # noqa: TID253  nobody waits for this script to start
from samtranslator.yaml_helper import yaml_parse

from infra.layers.build import ROOT
from infra.local_cloud import credentials, local_cloud
from infra.tools import MissingPythonError

PORT = 4566  # where infra/local.json looks
STACK = "nacre-local"
NAMES = {
    "TokensTable": ("TableName", f"{STACK}-tokens"),
    "DataTable": ("TableName", f"{STACK}-data"),
    "BlobsBucket": ("BucketName", f"{STACK}-blobs"),
}
KEPT = {*NAMES, "NacreKey", "NacreKeyAlias", "PatrolQueue", "PatrolDeadLetterQueue"}
OUTPUTS = {
    "McpUrl": {"Value": "http://127.0.0.1:3000/mcp"},  # where `sam local start-api` serves
    "TokensTableName": {"Value": {"Ref": "TokensTable"}},
    "DataTableName": {"Value": {"Ref": "DataTable"}},
    "KeyArn": {"Value": {"Fn::GetAtt": ["NacreKey", "Arn"]}},
}


def data_template() -> dict[str, Any]:
    """Return the part of template.yaml that keeps data, under fixed names."""
    declared: dict[str, Any] = yaml_parse((ROOT / "template.yaml").read_text(encoding="utf-8"))
    resources = {name: declared["Resources"][name] for name in sorted(KEPT)}
    for name, (attribute, value) in NAMES.items():
        resources[name]["Properties"][attribute] = value
    return {
        "Parameters": declared["Parameters"],
        "Conditions": declared["Conditions"],
        "Resources": resources,
        "Outputs": OUTPUTS,
    }


def client(service: str, url: str) -> Any:
    """Return an SDK client for a cloud on this machine."""
    keys = credentials(url)
    return boto3.client(
        service,  # type: ignore[call-overload]  # its name is a literal at every call
        endpoint_url=url,
        region_name=keys["AWS_REGION"],
        aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
    )


def create(url: str) -> None:
    """Create the tables, queues, bucket and key; return when they are there."""
    cloudformation = client("cloudformation", url)
    cloudformation.create_stack(StackName=STACK, TemplateBody=json.dumps(data_template()))
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )


def main() -> None:
    """Serve until somebody ends it."""
    try:
        with local_cloud(PORT) as url:
            create(url)
            exports = " ".join(f"{name}={value}" for name, value in credentials(url).items())
            print(f"Data services answer at {url}, until Ctrl-C. In another terminal:")
            print(f"  {exports} nacre being create me --stack {STACK}")
            print("  sam build && sam local start-api --env-vars infra/local.json")
            sys.stdout.flush()
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            with suppress(KeyboardInterrupt):
                signal.pause()
    except MissingPythonError:
        sys.exit("services: no Python 3.13 on this machine; uv python install 3.13")


if __name__ == "__main__":
    main()
