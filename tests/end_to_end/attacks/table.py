"""A plugin: runs what belongs to the attack suite, and prints its tables at the end.

python -m pytest -p tests.end_to_end.attacks.table -m "not benchmark" FILES
"""

from collections import Counter

import pytest

from tests.end_to_end.attacks.rows import rows, rows_of_tests
from tests.end_to_end.attacks.run import WHOLE

_PROPERTY = "attack"

_WORST_FIRST = ("failed", "error", "skipped", "passed")


def _place(nodeid: str) -> str:
    return nodeid.partition("[")[0]


def _carried(item: pytest.Item) -> list[str]:
    marked = [str(mark.args[0]) for mark in item.iter_markers("attack")]
    return [*marked, *rows_of_tests().get(_place(item.nodeid), ())]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what shares a file with a row's test and carries none."""
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        carried = _carried(item)
        item.user_properties += [(_PROPERTY, row) for row in carried]
        (kept if carried or item.nodeid.startswith(WHOLE) else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept


def _counted(terminalreporter: pytest.TerminalReporter) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {row: Counter() for row in rows()}
    for outcome in _WORST_FIRST:
        for report in terminalreporter.stats.get(outcome, []):
            for name, row in report.user_properties:
                if name == _PROPERTY:
                    counts[row][outcome] += 1
    return counts


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a run fail whose rows were not all tried, unless somebody asked for some of them."""
    options, reporter = session.config.option, session.config.pluginmanager
    shown = reporter.get_plugin("terminalreporter")
    if shown is None or options.keyword or options.collectonly or session.exitstatus:
        return
    if not all(_counted(shown).values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print each table: what was tried, what had to come of it, and what did."""
    counts = _counted(terminalreporter)
    write, table = terminalreporter.write_line, ""
    for row in rows().values():
        if row.table != table:
            table = row.table
            terminalreporter.section(table)
        write(f"{row.id:<4} {_result(counts[row.id]):<14} {row.attack}")
        write(f"{'':<19} -> {row.expected}")
    held = sum(_result(each).startswith("held") for each in counts.values())
    terminalreporter.section(f"{held} of {len(counts)} rows held")


def _result(counted: Counter[str]) -> str:
    for outcome in _WORST_FIRST[:-1]:
        if counted[outcome]:
            return f"{outcome.upper()} {counted[outcome]}"
    return f"held ({counted['passed']})" if counted["passed"] else "NOT RUN"
