"""The goals of the content checks, on the product's own texts and on those beside the checkout."""

import json
from typing import Any

import pytest

from nacre.firewall.content.redaction import redact
from nacre.firewall.content.secrets import BUILT_IN, redact_text
from tests.firewall.content.content_cases import (
    is_strict,
    judged_definitions,
    judged_texts,
    share,
)
from tests.vectors.sets import SETS, rows

pytestmark = [pytest.mark.security, pytest.mark.parametrize("which", SETS)]


@pytest.mark.parametrize("half", ["seen", "held out"])
def test_half_of_the_attacks_with_a_lexical_signal_are_found(which: str, half: str) -> None:
    attacks = [
        row
        for row in judged_texts(which, "injection_attacks")
        if not row.is_hard and row.half == half
    ]
    assert len(attacks) > 80
    assert share(attacks) >= 0.5


def test_benign_texts_are_left_alone(which: str) -> None:
    benign = judged_texts(which, "injection_benign")
    strict = [row for row in benign if is_strict(row)]
    assert len(benign) >= 705
    assert len(strict) >= 50
    assert share(benign) <= 0.015
    assert share(strict) <= 0.005


def test_poisoned_definitions_are_found(which: str) -> None:
    assert share(judged_definitions(which, poisoned=True)) >= 0.8


def test_clean_definitions_are_left_alone(which: str) -> None:
    assert share(judged_definitions(which, poisoned=False)) <= 0.02


@pytest.mark.parametrize("wrapped", ["text", "result", "nested"])
def test_secrets_are_redacted_and_look_alikes_kept(which: str, wrapped: str) -> None:
    failed = []
    for row in rows(which, "secrets"):
        text = "".join(row["parts"])
        if wrapped == "text":
            clean, count = redact_text(text, BUILT_IN)
            is_kept = clean == text
        else:
            sentence = json.dumps({"value": text}) if wrapped == "nested" else f"it is {text} ."
            value: Any = {
                "content": [{"type": "text", "text": sentence}],
                "structuredContent": {"a": [sentence, 1, None]},
            }
            redacted = redact(value, BUILT_IN)
            count, is_kept = redacted.count, redacted.value is value
            json.loads(json.dumps(redacted.value))
            if wrapped == "nested":
                assert json.loads(redacted.value["content"][0]["text"]).keys() == {"value"}
        if is_kept != (row["expected"] == "keep") or is_kept != (count == 0):
            failed.append(row["name"])
    assert failed == []
