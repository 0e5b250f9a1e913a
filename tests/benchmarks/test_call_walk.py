"""What one warm call touches stays small: see `call_walk` for what is counted."""

from tests.benchmarks.call_walk import HERE, folder_changes, measure, product_changes

# Some more than were counted: a timer of the server may run during the call. Six embed the text.
MODULES = 109
FOLDER_CHANGES = 203
PRODUCT_CHANGES = 127


def test_a_warm_call_touches_few_modules_and_changes_folder_rarely() -> None:
    modules = measure(HERE)

    assert len(set(modules)) <= MODULES, sorted(set(modules))
    assert folder_changes(modules) <= FOLDER_CHANGES
    assert product_changes(modules) <= PRODUCT_CHANGES
    assert "being/tools/writing_tools.py" in modules
