"""Plans: plain values and back, as a run stores them."""

import json

import pytest

from nacre.being.memory.model.types import SceneDraft
from nacre.being.patrol.planning.plans import (
    Digest,
    MergePlan,
    PlanResult,
    Supersede,
    draft_from_plain,
    draft_to_plain,
)

DRAFT = SceneDraft(
    scene_id="5f0c2f8e-0000-5000-8000-000000000001",
    action="repotted the fern",
    actors=("Mia",),
    when=("2026-03-02",),
    importance=1.0,
    source="extract",
    trust="user",
    evidence=("01J",),
    themes=("plants",),
)
MERGE = MergePlan(("a", "b"), "repotted the ferns", "calm", (Supersede("c", "a", "it moved"),))


@pytest.mark.parametrize("plan", [MERGE, MergePlan()])
def test_a_plan_comes_back_from_what_a_store_keeps(plan: MergePlan) -> None:
    stored = json.loads(json.dumps(plan.to_plain()))

    assert MergePlan.from_plain(stored) == plan


def test_an_extracted_scene_comes_back_from_what_a_store_keeps() -> None:
    stored = json.loads(json.dumps(draft_to_plain(DRAFT)))

    assert "source" not in stored  # plans of 0.1.0 have none
    assert draft_from_plain(stored) == DRAFT


def test_a_store_that_gives_a_whole_float_back_as_an_int_changes_nothing() -> None:
    stored = draft_to_plain(DRAFT) | {"importance": 1}

    assert draft_from_plain(stored) == DRAFT


@pytest.mark.parametrize(("value", "reason"), [(None, None), (Digest("a", "b"), "refused")])
def test_a_thought_has_either_a_value_or_a_reason(value: Digest | None, reason: str | None) -> None:
    with pytest.raises(ValueError, match="either"):
        PlanResult(value, reason)
