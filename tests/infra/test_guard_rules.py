"""Our own rules for the template (CloudFormation Guard): they hold, and each can be broken."""

import json
import subprocess
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from infra.tools import programs
from tests.infra.declared import ROOT
from tests.infra.test_transform import transformed

pytestmark = pytest.mark.slow

RULES = ROOT / "infra" / "rules.guard"
PROGRAM = """
import json, sys
from guardpycfn import validate_with_guard
given = json.load(sys.stdin)
json.dump([validate_with_guard(each, given["rules"])["result"] for each in given["templates"]],
          sys.stdout)
"""
Template = dict[str, Any]


def of(template: Template, kind: str) -> list[Template]:
    """Return the resources of a type."""
    found = [each for each in template["Resources"].values() if each["Type"] == kind]
    assert found
    return found


def route(template: Template, key: str) -> Template:
    """Return the properties of a route."""
    [found] = [
        each["Properties"]
        for each in of(template, "AWS::ApiGatewayV2::Route")
        if each["Properties"]["RouteKey"] == key
    ]
    properties: Template = found
    return properties


def widen(template: Template) -> None:
    role = of(template, "AWS::IAM::Role")[0]["Properties"]
    role["Policies"][0]["PolicyDocument"]["Statement"][0]["Action"] = ["sqs:*"]


def open_up(template: Template) -> None:
    template["Resources"]["Url"] = {
        "Type": "AWS::Lambda::Url",
        "Properties": {"AuthType": "NONE", "TargetFunctionArn": "x"},
    }


BROKEN: dict[str, Callable[[Template], object]] = {
    "data_outlives_the_stack": lambda t: of(t, "AWS::DynamoDB::Table")[1].update(
        DeletionPolicy="Delete"
    ),
    "tables_are_sealed_and_go_back_in_time": lambda t: of(t, "AWS::DynamoDB::Table")[0][
        "Properties"
    ]["PointInTimeRecoverySpecification"].update(PointInTimeRecoveryEnabled=False),
    "buckets_are_private_and_sealed": lambda t: of(t, "AWS::S3::Bucket")[0]["Properties"][
        "PublicAccessBlockConfiguration"
    ].update(BlockPublicPolicy=False),
    "keys_are_renewed": lambda t: of(t, "AWS::KMS::Key")[0]["Properties"].pop("EnableKeyRotation"),
    "queues_and_topics_are_sealed": lambda t: of(t, "AWS::SQS::Queue")[0]["Properties"].pop(
        "KmsMasterKeyId"
    ),
    "logs_are_sealed_and_end": lambda t: of(t, "AWS::Logs::LogGroup")[2]["Properties"].pop(
        "KmsKeyId"
    ),
    "roles_are_written_out_without_wildcard_actions": widen,
    "functions_are_bounded_and_sealed": lambda t: of(t, "AWS::Lambda::Function")[3][
        "Properties"
    ].pop("KmsKeyArn"),
    "nobody_calls_a_function_around_the_gateway": open_up,
    "tokens_are_asked_for_where_mcp_is_spoken": lambda t: route(t, "POST /mcp").update(
        AuthorizationType="NONE"
    ),
    "other_routes_lead_to_the_portal_alone": lambda t: route(t, "POST /{proxy+}").update(
        Target={"Fn::Sub": "integrations/${McpHttpIntegration}"}
    ),
}


def judged(*templates: Template) -> list[Template]:
    """Return what Guard says of each template."""
    given = {"rules": RULES.read_text(), "templates": [json.dumps(each) for each in templates]}
    done = subprocess.run(
        [str(programs("review") / "python"), "-c", PROGRAM],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[Template] = json.loads(done.stdout)
    return found


def test_the_template_keeps_every_rule() -> None:
    [said] = judged(transformed())

    assert (said["status"], said["not_compliant"], said["not_applicable"]) == ("PASS", [], [])
    assert set(said["compliant"]) == set(BROKEN)


def test_every_rule_notices_what_it_is_about() -> None:
    templates = []
    for spoil in BROKEN.values():
        templates.append(deepcopy(transformed()))
        spoil(templates[-1])
    found = [
        {each["Rule"]["name"] for each in said["not_compliant"]} for said in judged(*templates)
    ]

    assert found == [{name} for name in BROKEN]
