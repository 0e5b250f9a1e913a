"""A stack with versions, deployed by SAM to a cloud on loopback: a release replaces the last."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from samtranslator.yaml_helper import yaml_parse

from infra import services
from infra.local_cloud import credentials, local_cloud
from infra.sam import run_sam
from infra.tools import MissingPythonError
from tests.infra.declared import FUNCTIONS, ROOT
from tests.infra.deployed_stack import STACK, build, depth, nacre, settled
from tests.infra.first_version import first_version
from tests.infra.steady_calls import Address, Tally, steady_calls
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


def physical(cloud: str) -> dict[str, str]:
    """Return the ids of the stack's resources, by their names in the template."""
    rows = services.client("cloudformation", cloud).describe_stack_resources(StackName=STACK)
    return {
        each["LogicalResourceId"]: each["PhysicalResourceId"] for each in rows["StackResources"]
    }


def reached(cloud: str, environment: Mapping[str, str]) -> Address:
    """Make a Being with a token, and return where it is reached."""
    being = nacre(environment, "being", "create", "me")["being_id"]
    made = nacre(environment, "token", "create", "--being", "me", "--scope", "full")
    return Address(cloud, physical(cloud)["HttpApi"], being, made["token"])


def change(built: Path) -> None:
    """Change every function and every layer, as a new version of Nacre does."""
    for part in [*built.glob("*Function"), *built.glob("*Layer")]:
        (part / "changed.txt").write_text("another version")


def unfinished(cloud: str) -> tuple[int, int]:
    """Return how many jobs are left once none is worked on, and how many were given up."""
    queues, sqs = physical(cloud), services.client("sqs", cloud)
    return settled(sqs, queues["PatrolQueue"]), depth(sqs, queues["PatrolDeadLetterQueue"])


def lost(environment: Mapping[str, str], tally: Tally, scratch: Path) -> list[str]:
    """Return the acknowledged notes that the Being no longer has."""
    nacre(environment, "export", str(scratch / "export.json"), "--force", "--being", "me")
    kept = (scratch / "export.json").read_text()
    return [note for note in tally.noted if f'"{note}"' not in kept]


def test_a_release_takes_over_from_the_last_and_loses_no_call(tmp_path: Path) -> None:
    try:
        with local_cloud() as cloud:
            environment = {**credentials(cloud), "HOME": str(tmp_path)}
            built = tmp_path / "build"
            build(built)
            codes = [deploy(built, cloud, environment, SnapStart="on", Release="r1")]
            seen = [published(cloud)]
            change(built)
            with steady_calls(reached(cloud, environment)) as tally:
                codes.append(deploy(built, cloud, environment, Release="r2"))
            seen.append(published(cloud))
            left = unfinished(cloud)
            forgotten = lost(environment, tally, tmp_path)
    except MissingPythonError:
        pytest.skip("no Python 3.13 on this machine")
    print(f"{tally.answered} calls during a deployment, {len(tally.failures)} failures")

    assert codes == [0, 0]
    # The old version stays: it finishes its calls.
    assert seen == [
        {name: (["release r1"], "release r1") for name in FUNCTIONS},
        {name: (["release r1", "release r2"], "release r2") for name in FUNCTIONS},
    ]
    assert tally.failures == []
    assert len(tally.noted) > 1
    assert forgotten == []
    assert left == (0, 0)


def test_the_first_version_is_updated_and_taken_back_without_losing_a_call(tmp_path: Path) -> None:
    """Both versions serve one stack meanwhile: each reads what the other writes and queues."""
    old, new = tmp_path / "old", tmp_path / "new"
    try:
        with local_cloud() as cloud:
            environment = {**credentials(cloud), "HOME": str(tmp_path)}
            build(old, first_version(tmp_path / "clone"))
            build(new)
            codes = [deploy(old, cloud, environment, SnapStart="on", Release="old")]
            address = reached(cloud, environment)
            tallies, left, forgotten = [], [], []
            for folder, release in ((new, "new"), (old, "back")):
                with steady_calls(address) as tally:
                    codes.append(deploy(folder, cloud, environment, Release=release))
                tallies.append(tally)
                left.append(unfinished(cloud))
                forgotten += [each for one in tallies for each in lost(environment, one, tmp_path)]
    except MissingPythonError:
        pytest.skip("no Python 3.13 on this machine")
    print([f"{tally.answered} calls, {len(tally.failures)} failures" for tally in tallies])

    assert codes == [0, 0, 0]
    assert [tally.failures for tally in tallies] == [[], []]
    assert all(len(tally.noted) > 1 for tally in tallies)
    assert left == [(0, 0), (0, 0)]
    assert forgotten == []
