"""What evaluating loads: the evaluator function and the proxies wait for it."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
before = set(sys.modules)
{work}
loaded = {{name.partition('.')[0] for name in set(sys.modules) - before}}
print('\\n'.join(sorted(loaded - sys.stdlib_module_names - {{'nacre'}})))
print('--')
print('\\n'.join(sorted(name for name in sys.modules if name.startswith('nacre.'))))
"""


def loaded_by(work: str) -> tuple[list[str], list[str]]:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(work=work)],
        capture_output=True,
        text=True,
        check=True,
    )
    foreign, ours = run.stdout.split("--\n")
    return foreign.split(), ours.split()


@pytest.mark.parametrize(
    "work",
    [
        "from nacre.policy.packs import pack; from nacre.policy.rule import Subject;"
        " pack('default').decide(Subject('tool', 'x', 'y', {'path': '/a/%2e'}))",
        "import nacre.policy.loading",
    ],
)
def test_a_policy_needs_nothing_but_the_standard_library(work: str) -> None:
    foreign, _ = loaded_by(work)
    assert foreign == []


def test_evaluating_needs_no_parser_of_policy_files() -> None:
    _, ours = loaded_by("import nacre.policy.packs")
    assert "nacre.policy.loading" not in ours
    assert not {name for name in ours if not name.startswith(("nacre.policy", "nacre.errors"))}
