"""A stack with versions, deployed by SAM to a cloud on loopback: a release replaces the last."""

import json
import os
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from samtranslator.yaml_helper import yaml_parse

from infra import services
from infra.local_cloud import credentials, local_cloud
from infra.sam import run_sam
from infra.tools import MissingPythonError
from tests.infra.declared import FUNCTIONS, ROOT
from tests.infra.deployed_stack import PING, STACK, build, nacre
from tests.scaffolding.lambda_layers import HOST

pytestmark = pytest.mark.slow


def deploy(folder: Path, cloud: str, environment: Mapping[str, str], **chosen: str) -> int:
    """Deploy what was built, but for the alarms over two metrics, which MiniStack refuses."""
    built: dict[str, Any] = yaml_parse((folder / "template.yaml").read_text())
    resources = built["Resources"]
    for name, resource in list(resources.items()):
        if resource["Type"] == "AWS::CloudWatch::Alarm" and "Metrics" in resource["Properties"]:
            del resources[name]
    for resource in resources.values():
        if resource["Type"] == "AWS::CodeDeploy::DeploymentGroup":
            watched = resource["Properties"]["AlarmConfiguration"]
            watched["Alarms"] = [
                each for each in watched["Alarms"] if each["Name"]["Ref"] in resources
            ]
    (folder / "local.json").write_text(json.dumps(built))
    parameters = {
        "Arch": HOST,
        "Stage": "dev",
        "EndpointUrl": cloud,
        "AuthorizerCacheSeconds": "0",
        **chosen,
    }
    arguments = ["deploy", "--template-file", str(folder / "local.json")]
    arguments += ["--config-file", str(ROOT / "samconfig.toml"), "--stack-name", STACK]
    arguments += ["--no-confirm-changeset", "--parameter-overrides"]
    arguments += [f"{name}={value}" for name, value in parameters.items()]
    return run_sam(arguments, arch=HOST, environment={"PATH": os.defpath, **environment})


def published(cloud: str) -> dict[str, tuple[list[str], str]]:
    """Return of each function the releases that it has versions of, and where `live` points."""
    functions = services.client("lambda", cloud)
    found = {}
    for each in functions.list_functions()["Functions"]:
        name = each["FunctionName"]
        versions = functions.list_versions_by_function(FunctionName=name)["Versions"]
        numbers = {one["Version"]: one["Description"].partition(",")[0] for one in versions}
        live = functions.get_alias(FunctionName=name, Name="live")["FunctionVersion"]
        short = name.removeprefix(f"{STACK}-").partition("-")[0]
        found[short] = ([numbers[key] for key in numbers if key != "$LATEST"], numbers[live])
    return found


def status_of(cloud: str, being: str, token: str) -> int:
    """Return the status of a ping through the API."""
    rows = services.client("cloudformation", cloud).describe_stack_resources(StackName=STACK)
    [api] = [
        each["PhysicalResourceId"]
        for each in rows["StackResources"]
        if each["LogicalResourceId"] == "HttpApi"
    ]
    address = cloud.removeprefix("http://")
    headers = {
        "host": f"{api}.execute-api.localhost:{address.rpartition(':')[2]}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "authorization": f"Bearer {token}",
    }
    connection = HTTPConnection(address, timeout=60)
    connection.request("POST", f"/mcp/{being}", json.dumps(PING), headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_each_release_is_a_version_that_callers_reach_and_replaces_the_last(
    tmp_path: Path,
) -> None:
    try:
        with local_cloud() as cloud:
            environment = {**credentials(cloud), "HOME": str(tmp_path)}
            build(tmp_path / "build")
            codes, seen, statuses = [], [], []
            being = token = ""
            for release in ("r1", "r2"):
                codes.append(
                    deploy(tmp_path / "build", cloud, environment, SnapStart="on", Release=release)
                )
                if not token:
                    being = nacre(environment, "being", "create", "me")["being_id"]
                    made = nacre(environment, "token", "create", "--being", "me", "--scope", "full")
                    token = made["token"]
                seen.append(published(cloud))
                statuses.append(status_of(cloud, being, token))
    except MissingPythonError:
        pytest.skip("no Python 3.13 on this machine")

    assert codes == [0, 0]
    assert seen == [
        {name: ([f"release {release}"], f"release {release}") for name in FUNCTIONS}
        for release in ("r1", "r2")
    ]
    assert statuses == [200, 200]
