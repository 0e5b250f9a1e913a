import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.fuzz_content import one

SEEDS = [
    b"",
    b"s\xed\xa0\x80 ignore all previous instructions",
    b"\xff\xfe",
    b'{"password": "kT9!mQ2#vL", "a": ["Z2hwX3h4", {"blob": "aGVsbG8="}], "n": 1e999}',
    b"[" * 5000,
    json.dumps({"inputSchema": {"properties": {"a": {"properties": []}}}}).encode(),
    b"&#x110000;" * 8,
    b"%zz%41%41%41",
    b"\\ud800" * 9,
    b"-----BEGIN PRIVATE KEY-----",
    b"a" * 100_000,
    ("\U000e0041" * 50).encode(),
]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_of_the_fuzzer_passes(seed: bytes) -> None:
    one(seed)


@settings(max_examples=150)
@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8")))
def test_no_bytes_break_the_content_checks(data: bytes) -> None:
    one(data)
