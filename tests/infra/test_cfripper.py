"""cfripper on the template as CloudFormation gets it: nothing that is not explained here."""

import json
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from infra.tools import programs
from tests.infra.test_transform import transformed

pytestmark = pytest.mark.slow

EXPLAINED = {
    # "kms:*" for the account's root is what gives IAM its say over the key; without it nobody
    # could ever change the key's policy. No role of the stack has it.
    ("GenericResourceWildcardPolicyRule", "NacreKey"),
    # Objects are written once, under fresh names, and end after seven days.
    ("S3ObjectVersioningRule", "BlobsBucket"),
}


def findings(folder: Path, **templates: dict[str, Any]) -> list[set[tuple[str, str]]]:
    """Return the rules that each template breaks, with the resource of each."""
    files = [folder / f"{name}.json" for name in templates]
    for file, template in zip(files, templates.values(), strict=True):
        file.write_text(json.dumps(template))
    command = [str(programs("review") / "cfripper"), *map(str, files)]
    done = subprocess.run(
        [*command, "--resolve", "--format", "json", "--output-folder", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = []
    for file in files:
        said = json.loads(file.with_name(f"{file.name}.cfripper.results.json").read_text())
        assert said["exceptions"] == [], done.stderr
        found.append(
            {(each["rule"], name) for each in said["failures"] for name in each["resource_ids"]}
        )
    return found


def test_cfripper_finds_nothing_that_is_not_explained(tmp_path: Path) -> None:
    planted = deepcopy(transformed())
    role = planted["Resources"]["PortalFunctionRole"]["Properties"]
    role["Policies"][0]["PolicyDocument"]["Statement"].append(
        {"Effect": "Allow", "Action": "*", "Resource": "*"}
    )
    own, spoilt = findings(tmp_path, own=transformed(), spoilt=planted)

    assert own == EXPLAINED
    assert {name for _, name in spoilt - EXPLAINED} == {"PortalFunctionRole"}  # it does look
