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
    small = ("nacre.policy", "nacre.errors", "nacre.own_server")
    assert not {name for name in ours if not name.startswith(small)}


LISTING = """
import os, tempfile
from pathlib import Path
from nacre.wiring.embedded import open_laptop
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
LOOKING = {"injection", "injection_rules", "injection_text", "secrets", "redaction", "screen"}


@pytest.mark.parametrize(
    "work",
    [
        "from nacre.policy.loading import read_policy; from nacre.policy import packs;"
        " from pathlib import Path;"
        " read_policy(Path(packs.__file__).with_name('careful.toml'))",
        "import nacre.wiring.guarding, nacre.policy.laptop, nacre.policy.stored",
        "import nacre.policy.entry, nacre.policy.entry_judge, nacre.policy.judge",
        "import nacre.faces.policy, nacre.faces.evaluating",
        "import nacre.faces.authorizer",
        LISTING,
    ],
)
def test_a_start_does_not_wait_for_what_looks_at_texts(work: str) -> None:
    _, ours = loaded_by(work)
    assert not {f"nacre.policy.{name}" for name in LOOKING} & set(ours)
    assert any(name.startswith("nacre.") for name in ours)
