"""The processes that `--workers` runs the tests in."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a test file in forked workers."""
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.forked_workers"]')
    (folder / "pytest.ini").write_text("[pytest]")
    (folder / "test_it.py").write_text(tests)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rA",
        "-p",
        "no:cacheprovider",
        *options,
        str(folder),
    ]
    return subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )


@pytest.mark.slow
def test_each_test_runs_once_and_is_reported_with_its_output(tmp_path: Path) -> None:
    tests = """
import os, pytest
@pytest.mark.parametrize("number", range(40))
def test_number(number, tmp_path):
    (tmp_path / "here").touch()
    with open("ran", "a") as ran:
        ran.write(f"{number} {os.getpid()}\\n")
    print(f"printed by {number}")
    os.write(1, f"written by {number}\\n".encode())
    assert number != 17
def test_skipped():
    pytest.skip("not here")
"""
    result = run(tmp_path, tests, "--workers", "3")

    lines = [line.split() for line in (tmp_path / "ran").read_text().splitlines()]
    assert sorted(int(number) for number, _ in lines) == list(range(40))
    assert len({process for _, process in lines}) == 3
    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 39 passed, 1 skipped" in result.stdout
    _, failure = result.stdout.split("_ test_number[17] _")
    captured = failure.partition("Captured stdout call")[2].partition("____")[0]
    assert captured.splitlines()[1:3] == ["printed by 17", "written by 17"]


def test_fixtures_are_closed_in_the_worker_that_made_them(tmp_path: Path) -> None:
    tests = """
import os, pytest
@pytest.fixture(scope="session")
def server():
    yield os.getpid()
    with open("closed", "a") as closed:
        closed.write(f"{os.getpid()}\\n")
@pytest.mark.parametrize("number", range(8))
def test_number(server, number):
    with open("ran", "a") as ran:
        ran.write(f"{server}\\n")
    assert server == os.getpid()
"""
    assert run(tmp_path, tests, "--workers", "2").returncode == 0

    used = set((tmp_path / "ran").read_text().split())
    assert sorted((tmp_path / "closed").read_text().split()) == sorted(used)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os._exit(0)"])
def test_a_worker_that_dies_fails_the_run_and_names_its_test(tmp_path: Path, end: str) -> None:
    tests = f"import os\ndef test_fine(): pass\ndef test_dies(): {end}\ndef test_last(): pass\n"

    result = run(tmp_path, tests, "--workers", "1")

    assert result.returncode != 0
    assert "the worker that ran test_it.py::test_dies has died" in result.stdout


@pytest.mark.slow
def test_the_first_failure_can_end_the_run(tmp_path: Path) -> None:
    tests = "".join(f"def test_{number}(): assert {number}\n" for number in range(2000))

    result = run(tmp_path, tests, "--workers", "1", "-x")

    assert result.returncode == pytest.ExitCode.TESTS_FAILED
    assert "stopping after 1 failures" in result.stdout
