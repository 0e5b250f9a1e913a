"""A newcomer's two commands on a machine with nothing on it; NACRE_CLEAN_MACHINE=1 asks for it."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif("NACRE_CLEAN_MACHINE" not in os.environ, reason="takes minutes and a network")
def test_a_clean_machine_serves_and_checks() -> None:
    subprocess.run([ROOT / "infra" / "clean_machine.sh"], check=True, stdin=subprocess.DEVNULL)
