"""The table of mutations fits the promises and the package; a sample of it is run."""

from pathlib import Path

import pytest

from tests.mutate.mutations import MUTATIONS, Mutation
from tests.mutate.run import run
from tests.requirements import PENDING, REQUIREMENTS

PACKAGE = Path(__file__).parents[2] / "shared" / "nacre"
SAMPLE_STEP = 12
# Their marks once stood on tests that did not notice when the promise was broken.
ALWAYS = (
    "002.server.handle-jsonrpc",
    "003.auth.hashed",
    "003.get_context.capability-tools",
    "003.merge_nodes.embedding",
    "003.scope.read-only",
    "003.scope.write-tools",
    "003.search_memory.vector",
    "003.update_memory.targets",
)


def test_every_promise_has_a_way_to_be_broken() -> None:
    broken = {mutation.requirement for mutation in MUTATIONS}

    assert broken == REQUIREMENTS.keys() - PENDING


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.requirement)
def test_a_mutation_fits_the_module_as_it_is_now(mutation: Mutation) -> None:
    source = (PACKAGE / mutation.module).read_text(encoding="utf-8")

    compile(mutation.broken(source), mutation.module, "exec")


@pytest.mark.slow
def test_the_tests_notice_when_a_promise_is_broken() -> None:
    requirements = [mutation.requirement for mutation in MUTATIONS]
    sample = dict.fromkeys((*ALWAYS, *requirements[::SAMPLE_STEP]))

    verdicts = list(run(list(sample)))

    assert len(verdicts) >= len(sample)
    unnoticed = [verdict for verdict in verdicts if verdict.outcome != "noticed"]
    assert unnoticed == []
