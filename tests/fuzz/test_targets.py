"""Every parser has a target, and every target holds: on its seeds, and on what a fuzzer makes."""

import os
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.fuzz.parsers import NOT_FUZZED, TARGETS, path_of, readers
from tests.fuzz.run import ROOT, command, names, target

RUNS = os.environ.get("NACRE_FUZZ_RUNS", "5000")  # of each target


def test_every_parser_is_given_to_a_target_or_says_why_not() -> None:
    fuzzed = {parser for parsers in TARGETS.values() for parser in parsers}

    found = readers()

    assert sorted(found - fuzzed - NOT_FUZZED.keys()) == []
    assert [each for each in NOT_FUZZED if path_of(each).is_file() and each not in found] == []
    assert sorted(NOT_FUZZED.keys() & fuzzed) == []


def test_the_table_has_the_targets_that_there_are() -> None:
    assert sorted(TARGETS) == names()


@pytest.mark.parametrize("name", names())
def test_the_seeds_pass_and_reach_the_parsers(name: str) -> None:
    found, reached = target(name), set[str]()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            reached.add(frame.f_code.co_filename)

    known = sys.getprofile()
    sys.setprofile(note)
    try:
        for seed in found.SEEDS:
            found.one(seed)
    finally:
        sys.setprofile(known)

    assert [each for each in TARGETS[name] if str(path_of(each)) not in reached] == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the fuzzer runs on Linux")
@pytest.mark.parametrize("name", names())
def test_a_fuzzer_finds_nothing(name: str, tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    run = subprocess.run(
        command(name, tmp_path, f"-runs={RUNS}", "-seed=1", "-verbosity=0"),
        cwd=ROOT,
        # Sets in the same order each time, for the same way through the code.
        env={**os.environ, "PYTHONPATH": str(ROOT / "shared"), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    # What Python raised is on standard output, what libFuzzer says of it on the other.
    assert run.returncode == 0, f"{run.stdout[-3000:]}\n{run.stderr[-1000:]}"
