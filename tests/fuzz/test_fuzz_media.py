"""The fuzz target on its seeds, and, slowly, on what a fuzzer makes of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.fuzz_media import TYPES, one
from tests.orders.documents import SAMPLES, sent

TARGET = Path(__file__).with_name("fuzz_media.py")
SEEDS = [
    b"",
    b"\0",
    b"\0[[]]",
    b'\0{"images": [null]}',
    b'\0{"images": "x", "files": {}}',
    '\0{"images": [{"data": "世🐚", "mimeType": "image/png"}]}'.encode(),
    *(
        b"\0" + json.dumps({"files": [sent(data, name, "../é.x")]}).encode()
        for name, data in SAMPLES.items()
        if len(data) < 200
    ),
    *(bytes([1, TYPES.index(name)]) + data for name, data in SAMPLES.items() if len(data) < 200),
    b"\2GIF89a\0aGk=\0aGk\0\xff",
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_passes(seed: bytes) -> None:
    one(seed)


@settings(deadline=None, max_examples=60)
@given(
    st.binary(max_size=400)
    | st.sampled_from(SEEDS).flatmap(
        lambda seed: st.binary(max_size=6).map(
            lambda tail: seed[: len(seed) // 2] + tail + seed[len(seed) // 2 :]
        )
    )
)
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
    command = [sys.executable, str(TARGET), str(corpus), "-runs=20000", "-max_len=500", "-seed=1"]
    run = subprocess.run(
        [*command, "-verbosity=0", f"-artifact_prefix={tmp_path}/"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
