import pytest
from cfnlint.api import lint, lint_file
from cfnlint.config import ManualArgs

from tests.infra.declared import PATH

# Informational findings too: they ask for deletion policies and retention.
CONFIG = ManualArgs(regions=["us-east-1", "eu-central-1"], include_checks=["I"])


@pytest.mark.slow
def test_cfn_lint_has_nothing_to_say() -> None:
    assert [str(match) for match in lint_file(PATH, config=CONFIG)] == []


@pytest.mark.slow
def test_cfn_lint_does_look() -> None:
    planted = PATH.read_text().replace("MemorySize: 512", "MemorySize: 12", 1)

    assert {match.rule.id for match in lint(planted, config=CONFIG)} == {"E3034"}
