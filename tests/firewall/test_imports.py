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
        "from nacre.firewall.policies.packs import pack;"
        " from nacre.firewall.rules.rule import Subject;"
        " pack('default').decide(Subject('tool', 'x', 'y', {'path': '/a/%2e'}))",
        "import nacre.firewall.policies.loader",
    ],
)
def test_a_policy_needs_nothing_but_the_standard_library(work: str) -> None:
    foreign, _ = loaded_by(work)
    assert foreign == []


def test_evaluating_needs_no_parser_of_policy_files() -> None:
    _, ours = loaded_by("import nacre.firewall.policies.packs")
    assert "nacre.firewall.policies.loader" not in ours
    small = (
        *("nacre.firewall.policies", "nacre.firewall.rules"),
        *(
            "nacre.core.errors",
            "nacre.core.bounded_cache",
            "nacre.core.lazy_dataclasses",
            "nacre.core.own_server_name",
        ),
    )
    packages = {"nacre.core", "nacre.firewall"}
    assert not {name for name in ours if not name.startswith(small)} - packages


LISTING = """
import os, tempfile
from pathlib import Path
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
folder = Path(tempfile.mkdtemp())
(folder / 'policy.toml').write_text('[[rule]]\\naction = "prompt"\\ntool = "*"\\n')
named = Settings(
    data_folder=str(folder), embeddings='none', policy_file=str(folder / 'policy.toml')
)
laptop = open_laptop(folder / 'data', named)
assert laptop.application.surface.tools_for(None)
laptop.close()
"""
LOOKING = {
    *("content.injection.scan", "content.injection.rules", "content.injection.normalized_text"),
    *("content.secrets", "content.redaction", "enforce.content_check"),
}


@pytest.mark.parametrize(
    "work",
    [
        "from nacre.firewall.policies.loader import read_policy;"
        " from nacre.firewall.policies import packs;"
        " from pathlib import Path;"
        " read_policy(Path(packs.__file__).with_name('careful.toml'))",
        "import nacre.wiring.features.firewall, nacre.firewall.policies.laptop_policy;"
        " import nacre.firewall.policies.stored_policy",
        "import nacre.firewall.entry.guarded_surface, nacre.firewall.entry.entry_judge;"
        " import nacre.firewall.enforce.judge",
        "import nacre.faces.evaluator.evaluator_function, nacre.faces.evaluator.evaluation",
        "import nacre.faces.aws_lambda.token_authorizer",
        LISTING,
    ],
)
def test_a_start_does_not_wait_for_what_looks_at_texts(work: str) -> None:
    _, ours = loaded_by(work)
    assert not {f"nacre.firewall.{name}" for name in LOOKING} & set(ours)
    assert any(name.startswith("nacre.") for name in ours)
