"""The figures of recall quality, on answers whose figures are known."""

import json
from pathlib import Path

from tests.benchmarks.recall_quality.datasets import beam, zero_overlap
from tests.benchmarks.recall_quality.measure import Answer, Quality
from tests.benchmarks.recall_quality.misses import by_cause
from tests.benchmarks.recall_quality.tasks import Memory, Question

TEXTS = {
    "1/a": "Aiko adopted a grey cat from the shelter in spring",
    "1/b": "Yes!",
    "2/a": "The bank in the old town raised its mortgage rates in winter",
}


def answer(evidence: set[str], ranking: list[str], kind: str = "") -> Answer:
    return Answer(Question("Which pet was adopted?", frozenset(evidence), kind), ranking, TEXTS)


def test_the_quality_is_the_mean_over_questions() -> None:
    both = answer({"1/a", "2/a"}, ["2/a", "1/b"], "several")
    none = answer({"1/a"}, [], "one")

    quality = Quality.of([both, none])

    assert quality.recall[1] == quality.recall[10] == 0.25
    assert (quality.mrr, quality.sessions, quality.nothing) == (0.5, 0.5, 0.5)
    assert quality.categories == {"one": 0.0, "several": 0.5}


def test_misses_are_sorted_by_what_kept_them_away() -> None:
    misses = by_cause([answer({"1/a", "1/b", "2/a"}, ["1/a"]), answer({"1/a"}, ["2/a"])])

    assert {reason: [name for _, name in missed] for reason, missed in misses.items()} == {
        "says little by itself": ["1/b"],
        "shares no word with the question": ["2/a"],
        "other memories share more with the question": ["1/a"],
    }


def test_a_question_of_beam_names_its_messages_in_several_forms(tmp_path: Path) -> None:
    chat = tmp_path / "1"
    (chat / "probing_questions").mkdir(parents=True)
    turn = [{"role": "user", "id": 3, "time_anchor": "March-15-2024", "content": "Hi ->-> 1,1"}]
    (chat / "chat.json").write_text(json.dumps([{"turns": [turn]}]))
    asked = {"question": "?", "source_chat_ids": {"first": [3], "other": [[9]]}}
    questions = {"update": [asked], "abstention": [{"question": "?"}]}
    (chat / "probing_questions" / "probing_questions.json").write_text(json.dumps(questions))

    [task] = beam(tmp_path)

    assert task.memories == [Memory("3", "Hi", ("user",), ("2024-03-15",))]
    assert task.questions == [Question("?", frozenset({"3"}), "update")]


def test_distractors_surround_the_memories_that_answer(tmp_path: Path) -> None:
    file = tmp_path / "en.tsv"
    file.write_text("# pets\nA cat came home\tWhich animal returned?\n")

    [task] = zero_overlap(file, [Memory("0:1", "Nothing to do with it", ("Bo",), ())])

    assert {memory.action for memory in task.memories} == {
        "A cat came home",
        "Nothing to do with it",
    }
    assert task.questions == [Question("Which animal returned?", frozenset({"m0"}))]
