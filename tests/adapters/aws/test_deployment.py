"""The facts of a deployed stack, on a fake AWS that has some of its resources."""

import io
import json
import zipfile
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest

from nacre.adapters.aws.deployment import StackDeployment
from nacre.core.clock import system_clock
from nacre.ports.operation.deployment import Fact
from tests.scaffolding.aws_stack import REGION
from tests.wiring.deployed import deployed

TABLES = ("TokensTable", "DataTable")


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with deployed(monkeypatch) as name:
        yield name


def client(service: str) -> Any:
    session: Any = boto3.Session(region_name=REGION)
    return session.client(service)


def facts(stack: str) -> dict[str, list[Fact]]:
    by_check: dict[str, list[Fact]] = {}
    for fact in StackDeployment(client, stack, clock=system_clock).facts():
        by_check.setdefault(fact.check, []).append(fact)
    return by_check


def names(stack: str) -> dict[str, str]:
    rows = client("cloudformation").list_stack_resources(StackName=stack)
    return {
        row["LogicalResourceId"]: row["PhysicalResourceId"]
        for row in rows["StackResourceSummaries"]
    }


def test_every_check_has_a_line_and_those_that_are_no_good_say_what_to_do(stack: str) -> None:
    found = facts(stack)

    assert found.keys() == {
        *("processor", "start", "snapshots", "expiry", "recovery", "key", "queue", "schedule"),
        *("sweeps", "bucket", "alarms", "concurrency", "release"),
    }
    for fact in (each for several in found.values() for each in several):
        assert fact.state == "ok" or fact.advice or fact.found.startswith("not seen"), fact


def test_expired_items_are_deleted_once_the_table_says_so(stack: str) -> None:
    before = facts(stack)["expiry"]
    for table in TABLES:
        client("dynamodb").update_time_to_live(
            TableName=names(stack)[table],
            TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"},
        )

    assert [fact.state for fact in before] == ["warn", "warn"]
    assert [fact.state for fact in facts(stack)["expiry"]] == ["ok", "ok"]


def test_a_key_that_is_disabled_is_a_problem(stack: str) -> None:
    # The fake AWS cannot describe the key that its CloudFormation made.
    key = client("kms").create_key()["KeyMetadata"]["KeyId"]
    client("kms").enable_key_rotation(KeyId=key)
    deployment = StackDeployment(client, stack, clock=system_clock)
    deployment._names = {"NacreKey": key}
    before = list(deployment._key())
    client("kms").disable_key(KeyId=key)

    assert [fact.state for fact in before] == ["ok"]
    [after] = deployment._key()
    assert (after.state, after.advice) == ("fail", "enable it: aws kms enable-key")


def test_a_bucket_that_the_public_may_read_is_a_problem(stack: str) -> None:
    bucket = names(stack)["BlobsBucket"]
    s3 = client("s3")
    switches = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
    rule = {"ID": "expire", "Status": "Enabled", "Filter": {}, "Expiration": {"Days": 7}}
    states = []
    for is_blocked, rules in ((True, []), (True, [rule]), (False, [rule])):
        blocked = dict.fromkeys(switches, is_blocked)
        s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=blocked)
        if rules:
            s3.put_bucket_lifecycle_configuration(
                Bucket=bucket, LifecycleConfiguration={"Rules": rules}
            )
        states += [fact.state for fact in facts(stack)["bucket"]]

    assert states == ["warn", "ok", "fail"]


def test_a_sweep_is_seen_by_its_metric(stack: str) -> None:
    before = facts(stack)["sweeps"]
    client("cloudwatch").put_metric_data(
        Namespace="Nacre",
        MetricData=[
            {
                "MetricName": "PatrolBacklog",
                "Dimensions": [{"Name": "Stack", "Value": stack}],
                "Timestamp": system_clock() - timedelta(minutes=50),
                "Value": 0.0,
            }
        ],
    )

    assert [fact.state for fact in before] == ["warn"]
    assert [fact.state for fact in facts(stack)["sweeps"]] == ["ok"]


@pytest.mark.parametrize(
    ("parameters", "searched_in"),
    [
        ({"SearchFiles": "on"}, "files"),
        ({"SearchFiles": "off"}, "items"),
        ({"SearchFiles": "on", "QdrantUrl": "https://qdrant.example"}, "qdrant"),
    ],
)
def test_a_stack_says_where_it_searches(
    monkeypatch: pytest.MonkeyPatch, parameters: dict[str, str], searched_in: str
) -> None:
    with deployed(monkeypatch, parameters=parameters) as stack:
        deployment = StackDeployment(client, stack, clock=system_clock)

        assert deployment.searched_in() == searched_in


def test_a_resource_that_is_gone_is_a_problem(stack: str) -> None:
    [fact] = facts(stack)["queue"]  # this fake AWS deploys no mapping

    assert (fact.state, fact.found) == ("fail", "the stack has no PatrolMapping")


FUNCTIONS = ("McpHttp", "TokenAuthorizer", "PatrolWorker", "PolicyEvaluator", "Portal")


def released() -> StackDeployment:
    """Return a deployment whose functions have a version and an alias, as a Release makes them."""
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}}
    document = {"Version": "2012-10-17", "Statement": [{**trust, "Action": "sts:AssumeRole"}]}
    role = client("iam").create_role(
        RoleName="role", AssumeRolePolicyDocument=json.dumps(document)
    )["Role"]["Arn"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("handler.py", "")
    functions = client("lambda")
    for name in FUNCTIONS:
        functions.create_function(
            FunctionName=f"my-{name}",
            Runtime="python3.13",
            Role=role,
            Handler="handler.handle",
            Code={"ZipFile": code.getvalue()},
        )
        version = functions.publish_version(FunctionName=f"my-{name}")["Version"]
        functions.create_alias(FunctionName=f"my-{name}", Name="live", FunctionVersion=version)
    deployment = StackDeployment(client, "any", clock=system_clock)
    deployment._names = {f"{name}Function": f"my-{name}" for name in FUNCTIONS}
    deployment._parameters = {"Release": "r1"}
    return deployment


@pytest.mark.usefixtures("stack")
def test_settings_that_were_not_released_are_a_problem() -> None:
    deployment = released()
    before = list(deployment._release())
    client("lambda").update_function_configuration(FunctionName="my-Portal", MemorySize=2048)
    after = {fact.found.partition(" ")[0]: fact.state for fact in deployment._release()}

    assert [fact.state for fact in before] == ["ok"] * 5
    assert after.pop("PortalFunction") == "fail"
    assert list(after.values()) == ["ok"] * 4


@pytest.mark.usefixtures("stack")
def test_old_versions_are_named_where_their_snapshots_cost() -> None:
    deployment = released()
    client("lambda").update_function_configuration(FunctionName="my-Portal", MemorySize=2048)
    newest = client("lambda").publish_version(FunctionName="my-Portal")["Version"]
    client("lambda").update_alias(FunctionName="my-Portal", Name="live", FunctionVersion=newest)
    deployment._parameters = {"Release": "r2", "SnapStart": "on"}
    found = [fact for fact in deployment._snapshots() if fact.state == "warn"]

    assert [fact.advice.partition(": ")[2] for fact in found] == [
        "aws lambda delete-function --function-name my-Portal --qualifier 1"
    ]


def test_a_stack_without_a_release_is_told_what_deployments_do(stack: str) -> None:
    [fact] = facts(stack)["release"]

    assert (fact.state, "make deploy" in fact.advice) == ("warn", True)
