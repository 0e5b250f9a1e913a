"""What every test shares."""

import gc
import os
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from botocore import loaders, session
from hypothesis import HealthCheck, settings

from tests.repetitions import Repetition, repetition_of

# As servers do: the threads of numpy, which it starts when it is loaded, cost more than they gain.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

pytest_plugins = ["tests.forked_workers"]
TESTS = Path(__file__).parent
ATTACKS = TESTS / "end_to_end" / "attacks"

# The promises that some test carries, known where all tests were collected.
CARRIED = pytest.StashKey[set[str]]()
# The entries of tests/repetitions.py that some case belongs to, known there too.
REPEATED = pytest.StashKey[set[Repetition]]()

# The same examples at every run, so that a run fails for what was changed and for nothing else, and
# no judgement on a busy machine. `--hypothesis-profile searching` looks for examples of its own.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("searching", _PATIENT)
settings.register_profile("same", _PATIENT, derandomize=True, max_examples=25)
settings.register_profile("thorough", _PATIENT, derandomize=True)
settings.load_profile("same")

_MANY = 300  # tests: fewer may need none of what a long run loads

_loader = cache(loaders.create_loader)


def _shared_loader(search_path_string: str | None = None) -> loaders.Loader:
    """Return one loader for all sessions; each of boto3's adds the same folder to its paths."""
    loader = _loader(search_path_string)
    loader.search_paths[:] = dict.fromkeys(loader.search_paths)
    return loader


def pytest_configure() -> None:
    """Find and parse the descriptions of AWS services once, and collect garbage less often.

    A run holds a million objects that stay until its end: each collection would visit them.
    """
    session.create_loader = _shared_loader
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what collection made out of every later garbage collection.

    A long run first loads what some test will load, before any worker would for itself.
    """
    if len(session.items) >= _MANY and not session.config.option.collectonly:
        _load_what_many_need()
    gc.freeze()


def _load_what_many_need() -> None:
    """Load the fake AWS with its descriptions of services, and the client of other servers.

    They are a third of a million objects, which each full garbage collection would visit.
    """
    import nacre.adapters.mcp.transports  # noqa: F401
    from tests.scaffolding.aws_stack import aws_stack

    with aws_stack():
        pass


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is repeated, and keep what all tests carry, before any of it is left out."""
    repeated = set[Repetition]()
    for item in items:
        parameters = getattr(item, "callspec", None)
        if parameters is None:
            continue
        file = item.path.relative_to(TESTS.parent).as_posix()
        if repetition := repetition_of(file, parameters.params.values()):
            item.add_marker(pytest.mark.slow)
            repeated.add(repetition)
    collected = [Path(each).absolute() for each in config.args]
    if collected == [TESTS] and not config.getoption("ignore"):
        marks = (mark for item in items for mark in item.iter_markers("requirement"))
        config.stash[CARRIED] = {mark.args[0] for mark in marks}
        config.stash[REPEATED] = repeated


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Collect what a test may leave open as long as its own filters hold.

    Collected later, the warning would fail whichever test is running then.
    """
    yield
    filters = (text for mark in item.iter_markers("filterwarnings") for text in mark.args)
    if any("ResourceWarning" in text for text in filters):
        gc.collect()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In the pipeline a security test that was skipped has failed."""
    report = yield
    if report.skipped and "NACRE_PIPELINE" in os.environ and is_about_security(item):
        report.outcome = "failed"
        report.longrepr = f"skipped, and a security test may not be: {report.longrepr}"
    return report


def is_about_security(item: pytest.Item) -> bool:
    """Tell whether a test is one that attackers are meant to meet."""
    return item.get_closest_marker("security") is not None or ATTACKS in item.path.parents
