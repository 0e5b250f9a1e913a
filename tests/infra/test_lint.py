from pathlib import Path
from typing import Any

import pytest

from tests.infra.declared import PATH

pytestmark = pytest.mark.slow


def findings(template: Path) -> list[Any]:
    """Return the findings of cfn-lint, informational ones too: they ask for deletion policies."""
    # Not at the top: the default run reads this file and runs none of it.
    from cfnlint.api import lint_file
    from cfnlint.config import ManualArgs

    config = ManualArgs(regions=["us-east-1", "eu-central-1"], include_checks=["I"])
    return list(lint_file(template, config=config))


@pytest.mark.parametrize("template", [PATH, PATH.parent / "infra" / "front_firewall.yaml"])
def test_cfn_lint_has_nothing_to_say(template: Path) -> None:
    assert [str(match) for match in findings(template)] == []


def test_cfn_lint_does_look(tmp_path: Path) -> None:
    planted = tmp_path / PATH.name
    planted.write_text(PATH.read_text().replace("MemorySize: 512", "MemorySize: 12", 1))

    assert {match.rule.id for match in findings(planted)} == {"E3034"}
