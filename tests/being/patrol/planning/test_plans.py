"""Plans: plain values and back, as a run stores them."""

import json

import pytest

from nacre.being.patrol.planning.plans import (
    Digest,
    MergePlan,
    SceneDraft,
    SplitPlan,
    Supersede,
    Thought,
)

DRAFT = SceneDraft(
    scene_id="5f0c2f8e-0000-5000-8000-000000000001",
    action="repotted the fern",
    actors=("Mia",),
    when=("2026-03-02",),
    importance=1.0,
    trust="user",
    evidence=("01J",),
    themes=("plants",),
)
MERGE = MergePlan(("a", "b"), "repotted the ferns", "calm", (Supersede("c", "a", "it moved"),))


@pytest.mark.parametrize(
    "plan",
    [
        DRAFT,
        MERGE,
        MergePlan(),
        SplitPlan(split=True, labels=("plants", "trains")),
        SplitPlan(split=False),
        Digest("plants", "Ferns were repotted."),
    ],
)
def test_a_plan_comes_back_from_what_a_store_keeps(
    plan: SceneDraft | MergePlan | SplitPlan | Digest,
) -> None:
    stored = json.loads(json.dumps(plan.to_plain()))

    assert type(plan).from_plain(stored) == plan


def test_a_store_that_gives_a_whole_float_back_as_an_int_changes_nothing() -> None:
    stored = DRAFT.to_plain() | {"importance": 1}

    assert SceneDraft.from_plain(stored) == DRAFT


@pytest.mark.parametrize(("value", "reason"), [(None, None), (Digest("a", "b"), "refused")])
def test_a_thought_has_either_a_value_or_a_reason(value: Digest | None, reason: str | None) -> None:
    with pytest.raises(ValueError, match="either"):
        Thought(value, reason)
