"""The fuzz target on its seeds, and, slowly, on what a fuzzer makes of them."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.fuzz_policy import one
from tests.policy.test_evaluate import SEED
from tests.policy.test_readings import ESCAPES, ORDINARY, hostile

TARGET = Path(__file__).with_name("fuzz_policy.py")
SEEDS = [
    b"\x00" + SEED.encode(),
    b"\x00[settings]\nmode = 'monitor'\n[injection]\naction = 'off'\n",
    *(b"\x01" + tail.encode("utf-8", "surrogatepass") for tail in (*ESCAPES, *ORDINARY)),
    b"\x01../../../etc/passwd",
    b'\x02{"path": ["/home/user/projects/a", {"x": null}], "n": 1e999}',
    b"\x02[[[[",
    b"\x03~/**/*.txt",
    b"\x03file:///a/../**",
    b"",
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_passes(seed: bytes) -> None:
    one(seed)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=40) | hostile.map(lambda text: b"\x01" + text.encode()))
def test_any_bytes_pass(data: bytes) -> None:
    one(data)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the fuzzer runs on Linux")
def test_a_fuzzer_finds_nothing(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed)
    command = [sys.executable, str(TARGET), str(corpus), "-runs=20000", "-max_len=200", "-seed=1"]
    run = subprocess.run(
        [*command, "-verbosity=0", f"-artifact_prefix={tmp_path}/"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
