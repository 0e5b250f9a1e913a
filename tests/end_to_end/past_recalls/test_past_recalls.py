"""A recall as of a past time is answered as it was then, byte for byte.

A life has everything that changes a memory: notes and retellings, captured conversations,
corrections, hiding, merges and their undoing, pins, patrols with and without a model, fading and
forgetting. Each answer is compared with its scores.
"""

from pathlib import Path

import pytest

from nacre.being.memory.store.recall_log import waiting_recalls
from tests.end_to_end.past_recalls.life import Life


def test_every_recall_of_some_days_can_be_repeated(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.live(9, recalls_a_day=4, deletes=False)
    counts = waiting_recalls(life.being.laptop.data, life.being_id)

    assert [life.again(recorded) for recorded in life.recorded] == life.recorded
    assert waiting_recalls(life.being.laptop.data, life.being_id) == counts
    life.being.close()


def test_what_is_deleted_or_erased_is_in_no_repeated_answer(tmp_path: Path) -> None:
    life = Life(tmp_path, seed=2)
    life.live(11, recalls_a_day=2)
    repeated = [life.again(recorded) for recorded in life.recorded]

    # The erased may have competed with others in earlier answers, but in none from then on.
    later = [number for number, each in enumerate(life.recorded) if each.at > life.last_erased]
    assert [repeated[number] for number in later] == [life.recorded[number] for number in later]
    assert any(map(life.shows_erased, life.recorded))
    assert not any(erased in each.text for erased in life.erased_ids for each in repeated)
    residue = life.being.laptop.ports.residue
    assert list(residue.find(sorted(life.erased_ids))) == []
    life.being.close()


@pytest.mark.slow
def test_a_thousand_recalls_of_four_months_can_be_repeated(tmp_path: Path) -> None:
    life = Life(tmp_path)
    life.live(126, recalls_a_day=8, deletes=False)

    assert len(life.recorded) >= 1000
    assert {node.status for node in life.being.nodes()} >= {"active", "dead", "merged", "hidden"}
    different = [each for each in life.recorded if life.again(each) != each]
    assert different == []
    life.being.close()


@pytest.mark.slow
def test_few_of_five_hundred_recalls_differ_if_memories_were_erased(tmp_path: Path) -> None:
    life = Life(tmp_path, seed=2)
    life.live(45, recalls_a_day=12)
    others = [each for each in life.recorded if not life.shows_erased(each)]
    same = sum(life.again(each).text == each.text for each in others)

    print(f"{len(life.recorded)} recalls, {len(others)} without the erased: {same} byte-equal")
    assert same >= 0.9 * len(others)
    life.being.close()
