"""The command `nacre eval`: keep questions, and compare their answers after changes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from nacre import __version__
from nacre.being.memory.store.kept_questions import KeptQuestion, KeptQuestions, Mark
from nacre.being.memory.text.memory_text import counted
from nacre.cli.being_options import Place, being_options
from nacre.cli.display import json_option, show_json, show_list, without_controls
from nacre.cli.exit_codes import FAILURE, OK
from nacre.cli.progress import progress_lines
from nacre.core.clock import system_clock
from nacre.core.limits import KEPT_QUESTIONS_OF_BEING

if TYPE_CHECKING:
    from nacre.access.beings import Being
    from nacre.being.memory.evaluation.answer_changes import AnswerChange
    from nacre.being.memory.evaluation.answers import Answer
    from nacre.ports.vectors.vector_index import Kind
    from nacre.wiring.compose import Home
    from nacre.wiring.settings import Settings

_SHOWN = 20  # questions of each comparison
_WIDTH = 100  # characters of a question or a memory


@click.group("eval")
def evaluate() -> None:
    """Keep questions, and show what a change of settings does to their answers.

    The questions of recalls and searches are kept only if you turn it on, without secrets, in the
    store of the Being. Erasing a memory erases the questions that found it or quote it.
    """


@evaluate.command()
@being_options
def on(*, place: Place) -> None:
    """Keep the questions of recalls and searches from now on, and the ids that they find."""
    home, being = place.open_being()
    _kept(home).switch(being.being_id, on=True)
    click.echo(
        f"Questions to {being.name} are kept from now on, the newest {KEPT_QUESTIONS_OF_BEING}."
        " To stop: nacre eval off",
        err=True,
    )


@evaluate.command()
@click.option("--erase", is_flag=True, help="Erase the questions that are kept, too.")
@being_options
def off(*, erase: bool, place: Place) -> None:
    """Stop keeping questions."""
    home, being = place.open_being()
    if not erase:
        _kept(home).switch(being.being_id, on=False)
        click.echo(f"Questions to {being.name} are no longer kept.", err=True)
        return
    count = _kept(home).erase_all(being.being_id)
    home.ports.residue.settle()
    erased = counted(count, "question was", "questions were")
    click.echo(f"Questions to {being.name} are no longer kept, and {erased} erased.", err=True)


@evaluate.command()
@json_option
@being_options
def status(*, as_json: bool, place: Place) -> None:
    """Show whether questions are kept, and how many there are."""
    home, being = place.open_being()
    questions = _kept(home).all(being.being_id)
    facts = {
        "being": being.name,
        "being_id": being.being_id,
        "on": _kept(home).is_on(being.being_id),
        "questions": len(questions),
        "good": sum(question.mark == "good" for question in questions),
        "bad": sum(question.mark == "bad" for question in questions),
        "oldest": questions[0].asked if questions else None,
        "newest": questions[-1].asked if questions else None,
    }
    if as_json:
        show_json(facts)
        return
    click.echo(f"kept: {'yes' if facts['on'] else 'no'}")
    marked = f"{facts['good']} marked good, {facts['bad']} bad"
    click.echo(f"questions: {len(questions)} of at most {KEPT_QUESTIONS_OF_BEING}, {marked}")
    if questions:
        click.echo(f"asked: {questions[0].asked} to {questions[-1].asked}")


@evaluate.command("list")
@json_option
@being_options
def list_questions(*, as_json: bool, place: Place) -> None:
    """List the questions that are kept, the oldest first."""
    home, being = place.open_being()
    questions = _kept(home).all(being.being_id)
    show_list(
        [_question_facts(question) for question in questions],
        ("ID", "ASKED", "TIMES", "TOOL", "FOUND", "MARK", "QUESTION"),
        [
            (
                question.question_id,
                question.asked[:10],
                str(question.times),
                question.tool,
                str(len(question.found)),
                question.mark or "-",
                _line(question.text),
            )
            for question in questions
        ],
        as_json=as_json,
        empty="No questions are kept. To keep them: nacre eval on",
    )


@evaluate.command()
@click.argument("question_id", metavar="ID")
@click.argument("judgement", type=click.Choice(["good", "bad", "none"]))
@being_options
def mark(question_id: str, judgement: str, *, place: Place) -> None:
    """Mark the kept answer of the question ID as good or bad.

    A marked answer stays as it is when the question is asked again, and newer questions do not
    take its place. 'none' removes the mark.
    """
    home, being = place.open_being()
    chosen = None if judgement == "none" else cast("Mark", judgement)
    question = _kept(home).mark(being.being_id, question_id, chosen)
    marked = "has no mark now" if question.mark is None else f"is marked as {question.mark}"
    click.echo(f"The answer to {question.question_id} {marked}.", err=True)


@evaluate.command()
@click.option(
    "--set",
    "assignments",
    metavar="NAME=VALUE",
    multiple=True,
    help="Compare with this setting, such as NACRE_EMBEDDINGS=none. May be given several times.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if an answer marked as good was lost.")
@json_option
@being_options
def run(assignments: tuple[str, ...], *, strict: bool, as_json: bool, place: Place) -> int:
    """Ask all kept questions again, and show the answers that changed, the worst first.

    Without --set, the current answers are compared with those that were kept. With --set, those of
    the changed settings are also compared with the current ones, on the same memories. Both work
    on a copy in memory: no recall is counted, and neither memories nor the index change.
    """
    from nacre.wiring.features.evaluation import changed_settings

    changed = changed_settings(assignments) if assignments else None
    home, being = place.open_being()
    questions = _kept(home).all(being.being_id)
    if not questions:
        click.echo("No questions are kept. To keep them: nacre eval on", err=True)
        if not as_json:
            return OK
    report = _Report(home, being, questions)
    try:
        report.compare_with_kept()
        if changed is not None:
            report.compare_with(changed, assignments)
        if as_json:
            show_json(report.facts())
        else:
            report.show()
    finally:
        report.copy.close()
    return FAILURE if strict and report.good_lost else OK


class _Report:
    """The comparisons of one run."""

    def __init__(self, home: "Home", being: "Being", questions: list[KeptQuestion]) -> None:
        from nacre.wiring.features.evaluation import MemoryCopy

        self._being = being
        self._questions = questions
        self.copy = MemoryCopy(home, being.being_id, home.settings)
        self.copy.fill(progress_lines("memories"))
        self._kinds: dict[str, Kind] = {}
        self._present = self._answers()
        self._embedding = self.copy.embedding
        self._remark = self.copy.remark
        self._since: list[AnswerChange] = []
        self._by_settings: list[AnswerChange] | None = None
        self._assignments: tuple[str, ...] = ()

    @property
    def good_lost(self) -> bool:
        """True if a comparison lost an answer that is marked as good."""
        changes = [*self._since, *(self._by_settings or ())]
        return any(change.loses_good for change in changes)

    def compare_with_kept(self) -> None:
        """Compare the current answers with those that were kept."""
        from nacre.being.memory.evaluation.answer_changes import worst_first
        from nacre.being.memory.evaluation.memory_changes import since_kept

        for question in self._questions:
            self._kinds.update({hit.id: hit.kind for hit in question.found})
        memories = self.copy.memories(self._kinds)
        self._since = worst_first(
            since_kept(
                question,
                self._present[question.question_id],
                memories,
                embedding=self._embedding,
                version=__version__,
            )
            for question in self._questions
        )
        # Memories of the kept answers, merged ones as what they are now.
        self._before = {change.question.question_id: change.before for change in self._since}
        self._since = [change for change in self._since if not change.question.is_cut]

    def compare_with(self, settings: "Settings", assignments: tuple[str, ...]) -> None:
        """Compare the answers of other settings with the current ones."""
        from nacre.being.memory.evaluation.answer_changes import AnswerChange, worst_first

        self._assignments = assignments
        self.copy.rebuild(settings, progress_lines("memories"))
        others = self._answers()
        self._by_settings = worst_first(
            AnswerChange(
                question, self._present[id_].ids, others[id_].ids, judged=self._before[id_]
            )
            for question in self._questions
            for id_ in [question.question_id]
        )

    def _answers(self) -> "dict[str, Answer]":
        answers = self.copy.answers(self._questions, progress_lines("questions"))
        for answer in answers.values():
            self._kinds.update(answer.kinds)
        return answers

    def facts(self) -> dict[str, Any]:
        """Return the report for programs."""
        from nacre.being.memory.evaluation.answer_changes import totals

        facts = {
            "being": self._being.name,
            "being_id": self._being.being_id,
            "version": __version__,
            "questions": len(self._questions),
            "embedding": self._embedding,
            "remark": self._remark,
            "since_kept": {
                "totals": totals(self._since),
                "not_compared": len(self._questions) - len(self._since),
                "changes": [_change_facts(change) for change in self._since],
            },
        }
        if self._by_settings is not None:
            facts["by_settings"] = {
                "set": list(self._assignments),
                "embedding": self.copy.embedding,
                "totals": totals(self._by_settings),
                "changes": [_change_facts(change) for change in self._by_settings],
            }
        return facts

    def show(self) -> None:
        """Write the report for people."""
        if self._remark:
            click.echo(f"note: {self._remark}", err=True)
        number = counted(len(self._since), "question", "questions")
        self._show_changes(f"{number}, now and when they were kept", self._since)
        if left_out := len(self._questions) - len(self._since):
            click.echo(f"not compared, because a secret was cut: {left_out}")
        if self._by_settings is not None:
            number = counted(len(self._questions), "question", "questions")
            click.echo()
            self._show_changes(
                f"{number}, with {' '.join(self._assignments)} and as now", self._by_settings
            )

    def _show_changes(self, title: str, changes: "list[AnswerChange]") -> None:
        from nacre.being.memory.evaluation.answer_changes import OUTCOMES, totals

        sums = totals(changes)
        click.echo(f"{title}: {', '.join(f'{sums[outcome]} {outcome}' for outcome in OUTCOMES)}")
        if sums["good_lost"]:
            click.echo(f"good answers lost: {sums['good_lost']}")
        if sums["bad_lost"]:
            click.echo(f"bad answers lost: {sums['bad_lost']}")
        different = [change for change in changes if change.outcome != "same" or change.causes]
        for change in different[:_SHOWN]:
            kinds = {id_: self._kinds.get(id_, "node") for id_ in (*change.lost, *change.gained)}
            _show_change(change, self.copy.memories(kinds).texts(kinds))
        if len(different) > _SHOWN:
            click.echo(f"… {len(different) - _SHOWN} more; --json shows all")


def _kept(home: "Home") -> KeptQuestions:
    return KeptQuestions(home.data, clock=system_clock)


def _question_facts(question: KeptQuestion) -> dict[str, Any]:
    return {
        "id": question.question_id,
        "tool": question.tool,
        "question": question.text,
        "arguments": dict(question.arguments),
        "asked": question.asked,
        "times": question.times,
        "mark": question.mark,
        "secret_cut": question.is_cut,
        "found": [hit.id for hit in question.found],
        "gate": None if question.gate is None else dict(question.gate),
        "embedding": question.embedding,
        "version": question.version,
    }


def _change_facts(change: "AnswerChange") -> dict[str, Any]:
    question = change.question
    return {
        "id": question.question_id,
        "outcome": change.outcome,
        "mark": question.mark,
        "tool": question.tool,
        "question": question.text,
        "times": question.times,
        "before": list(change.before),
        "after": list(change.after),
        "lost": list(change.lost),
        "gained": list(change.gained),
        "causes": list(change.causes),
        "good_lost": change.loses_good,
    }


def _show_change(change: "AnswerChange", texts: Mapping[str, str]) -> None:
    question = change.question
    causes = f" ({', '.join(change.causes)})" if change.causes else ""
    marked = f" [{question.mark}]" if question.mark else ""
    click.echo(
        f"{change.outcome}: {question.question_id} {question.tool}{marked}"
        f" {_line(question.text)}{causes}"
    )
    for sign, answer, ids in (
        ("-", change.before, change.lost),
        ("+", change.after, change.gained),
    ):
        for id_ in ids:
            click.echo(f"  {sign} {answer.index(id_) + 1}. {_line(texts.get(id_, id_))}")


def _line(text: str) -> str:
    line = " ".join(without_controls(text).split())
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"
