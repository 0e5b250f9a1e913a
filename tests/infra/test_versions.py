"""Releases: versions, how calls pass to them, and what takes them back."""

import json
import re
from typing import Any

import pytest

from nacre.core.limits import MAX_RECEIVES, NEWER_JOB_RETRY_SECONDS
from tests.infra.declared import (
    FUNCTIONS,
    functions,
    layers,
    named,
    resources,
    statements,
    template,
)
from tests.infra.test_transform import transformed

NAMES = sorted(name.removesuffix("Function") for name in FUNCTIONS)
VERSIONED = {f"{name}{kind}" for name in NAMES for kind in ("Version", "Alias")}
GRADUAL = {f"{name}DeploymentGroup" for name in NAMES} | {"DeploymentApplication", "DeploymentRole"}


def conditional() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, resource in transformed()["Resources"].items():
        if condition := resource.get("Condition"):
            found.setdefault(condition, set()).add(name)
    return found


def evaluated(value: Any, **conditions: bool) -> Any:
    """Return a part of the template with its conditions decided."""
    match value:
        case {"Fn::If": [name, yes, no]} if name in conditions:
            return evaluated(yes if conditions[name] else no, **conditions)
        case dict():
            decided = {key: evaluated(each, **conditions) for key, each in value.items()}
            nothing = {"Ref": "AWS::NoValue"}
            return {key: each for key, each in decided.items() if each != nothing}
        case list():
            return [evaluated(each, **conditions) for each in value]
        case _:
            return value


def test_by_default_there_is_nothing_of_it() -> None:
    parameters = template()["Parameters"]
    defaults = {
        each: parameters[each]["Default"] for each in ("Deployment", "SnapStart", "Release")
    }
    whole = evaluated(
        transformed()["Resources"], HasVersions=False, IsGradual=False, HasSnapStart=False
    )
    left = {
        name: each
        for name, each in whole.items()
        if each.get("Condition") not in ("HasVersions", "IsGradual")
    }

    assert defaults == {"Deployment": "AllAtOnce", "SnapStart": "off", "Release": ""}
    assert conditional()["HasVersions"] == VERSIONED
    assert conditional()["IsGradual"] == GRADUAL
    text = json.dumps(left)
    assert not [name for name in VERSIONED | GRADUAL if re.search(rf"\b{name}\b", text)]
    assert "Release" not in text


def test_a_release_makes_versions_and_what_needs_versions_needs_one() -> None:
    conditions = template()["Conditions"]
    rule = template()["Rules"]["VersionsNeedARelease"]

    assert conditions["HasVersions"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "Release"}, ""]}]}
    assert rule["RuleCondition"]["Fn::Or"] == [
        conditions["IsGradual"], conditions["HasSnapStart"],
    ]  # fmt: skip
    assert rule["Assertions"][0]["Assert"] == {
        "Fn::Not": [{"Fn::Equals": [{"Ref": "Release"}, ""]}]
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_release_or_a_layer_that_changes_publishes_a_version(name: str) -> None:
    version = transformed()["Resources"][f"{name}Version"]["Properties"]
    function = transformed()["Resources"][f"{name}Function"]["Properties"]
    text, parts = version["Description"]["Fn::Sub"]
    own = [each["Ref"] for each in function["Layers"] if "Ref" in each]

    # What the version of a layer says is the last part of its ARN.
    shown = [each["Fn::Select"] for each in parts.values()]
    assert [number for number, _ in shown] == [7] * len(own)
    assert [each["Fn::Split"] for _, each in shown] == [[":", {"Ref": layer}] for layer in own]
    assert all(f"${{{part}}}" in text for part in parts)
    assert "${Release}" in text
    # Lambda refuses a version of a function that has not changed since the last one.
    assert "${Release}" in function["Description"]["Fn::If"][1]["Fn::Sub"]
    assert len(layers(functions()[f"{name}Function"])) == len(own)


@pytest.mark.parametrize("name", NAMES)
def test_with_versions_every_call_goes_through_the_alias(name: str) -> None:
    whole = evaluated(
        transformed()["Resources"], HasVersions=True, IsGradual=True, HasSnapStart=False
    )
    callers = {
        each: resource
        for each, resource in whole.items()
        if resource["Type"].startswith("AWS::ApiGatewayV2")
        or resource["Type"] in ("AWS::Lambda::Permission", "AWS::Lambda::EventSourceMapping")
    }

    assert f"{name}Function" not in json.dumps(callers)
    assert f"{name}Alias" in json.dumps(callers)
    assert whole[f"{name}Alias"]["Properties"] == {
        "Name": "live",
        "FunctionName": {"Ref": f"{name}Function"},
        "FunctionVersion": {"Fn::GetAtt": [f"{name}Version", "Version"]},
    }


def test_nobody_is_pointed_at_a_function_that_may_not_be_called_yet() -> None:
    """An update creates the permission of an alias before it moves callers there."""
    declared = template()["Resources"]
    callers = {
        name: each
        for name, each in declared.items()
        if each["Type"] in ("AWS::ApiGatewayV2::Integration", "AWS::ApiGatewayV2::Authorizer")
    }
    permissions: dict[str, set[str]] = {}
    for name, each in declared.items():
        if each["Type"] == "AWS::Lambda::Permission":
            alias = each["Properties"]["FunctionName"]["Fn::If"][1]["Ref"]
            permissions.setdefault(alias, set()).add(name)
    uris = {
        name: json.dumps(
            each["Properties"].get("IntegrationUri", each["Properties"].get("AuthorizerUri"))
        )
        for name, each in callers.items()
    }

    for name, each in callers.items():
        [alias] = [one for one in permissions if one in uris[name]]
        assert set(each["DependsOn"]) == permissions[alias], name


def test_a_message_of_the_new_version_outlasts_the_slowest_deployment() -> None:
    """The old version may take it again and again before the new one does."""
    ways = template()["Parameters"]["Deployment"]["AllowedValues"]
    minutes = [int(text) for way in ways for text in re.findall(r"(\d+)Minutes", way)]
    steps = 10  # of ten percent each

    assert max(minutes) == 30
    assert max(
        int(found[1]) * steps for way in ways if (found := re.search(r"Every(\d+)Minutes", way))
    ) * 60 <= NEWER_JOB_RETRY_SECONDS * (MAX_RECEIVES - 1)


@pytest.mark.parametrize("name", NAMES)
def test_a_gradual_deployment_goes_back_when_an_alarm_of_its_function_rings(name: str) -> None:
    whole = evaluated(
        transformed()["Resources"], HasVersions=True, IsGradual=True, HasSnapStart=False
    )
    group = whole[f"{name}DeploymentGroup"]["Properties"]
    alarms = [each["Name"]["Ref"] for each in group["AlarmConfiguration"]["Alarms"]]

    assert whole[f"{name}Alias"]["UpdatePolicy"] == {
        "CodeDeployLambdaAliasUpdate": {
            "ApplicationName": {"Ref": "DeploymentApplication"},
            "DeploymentGroupName": {"Ref": f"{name}DeploymentGroup"},
        }
    }
    assert group["AutoRollbackConfiguration"] == {
        "Enabled": True,
        "Events": [
            "DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_STOP_ON_REQUEST",
        ],
    }  # fmt: skip
    assert group["AlarmConfiguration"]["Enabled"] is True
    assert {f"{name}ErrorAlarm", f"{name}DurationAlarm"} <= set(alarms)
    assert len(alarms) <= 10  # what CodeDeploy takes
    for alarm in alarms:
        assert whole[alarm]["Type"] == "AWS::CloudWatch::Alarm"


def test_an_alarm_has_time_to_ring_before_all_calls_have_passed_over() -> None:
    minutes = {}
    for each in template()["Parameters"]["Deployment"]["AllowedValues"]:
        if found := re.fullmatch(r"Canary10Percent(\d+)Minutes", each):
            minutes[each] = int(found[1])
        elif found := re.fullmatch(r"Linear10PercentEvery(\d+)Minutes?", each):
            minutes[each] = 9 * int(found[1])
        else:
            assert each == "AllAtOnce"
    groups = resources("AWS::CodeDeploy::DeploymentGroup").values()
    watched = {named(each["Name"]) for g in groups for each in g["AlarmConfiguration"]["Alarms"]}
    slowest = 0
    for name in watched:
        alarm = resources("AWS::CloudWatch::Alarm")[name]
        periods = [alarm.get("Period", 0)] + [
            each["MetricStat"]["Period"]
            for each in alarm.get("Metrics", [])
            if "MetricStat" in each
        ]
        slowest = max(slowest, alarm["EvaluationPeriods"] * max(periods))

    assert min(minutes.values()) * 60 >= 2 * slowest


def test_what_deploys_may_shift_calls_of_these_functions_and_read_alarms() -> None:
    shift, watch = statements(resources("AWS::IAM::Role")["DeploymentRole"])

    assert shift["Action"] == [
        "lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias",
    ]  # fmt: skip
    assert {named(each) for each in shift["Resource"]} == {
        *FUNCTIONS, *(f"{name}:*" for name in FUNCTIONS),
    }  # fmt: skip
    assert watch["Action"] == ["cloudwatch:DescribeAlarms"]
    assert watch["Resource"]["Fn::Sub"].endswith(":alarm:*")


def test_snapshots_are_taken_of_what_answers_people_and_starts_slowly() -> None:
    ways: dict[bool, dict[str, Any]] = {
        is_on: {
            name: evaluated(each["SnapStart"], HasSnapStart=is_on)["ApplyOn"]
            for name, each in functions().items()
            if "SnapStart" in each
        }
        for is_on in (True, False)
    }

    names = ("McpHttpFunction", "PortalFunction")
    assert ways[True] == dict.fromkeys(names, "PublishedVersions")
    assert ways[False] == dict.fromkeys(names, "None")
