"""Walks on machines with nothing on them; NACRE_CLEAN_MACHINE=1 asks for them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "NACRE_CLEAN_MACHINE" not in os.environ, reason="takes minutes and a network"
    ),
]


def test_a_clean_machine_serves_and_checks() -> None:
    subprocess.run([ROOT / "infra" / "clean_machine.sh"], check=True, stdin=subprocess.DEVNULL)


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0 or shutil.which("debootstrap") is None,
    reason="a Debian with a live systemd needs root and debootstrap",
)
def test_a_bare_debian_installs_the_wheels_and_keeps_the_service_running() -> None:
    machine = ROOT / "infra" / "debian" / "machine.sh"
    subprocess.run([machine], check=True, stdin=subprocess.DEVNULL)
