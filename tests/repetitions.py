"""What the slower suites repeat: cases that run the same code as others, on another store or face.

The default run keeps every case of the laptop, and for AWS those files that go through each tool,
command and store once. `make slow` runs all of them.
"""

from collections.abc import Collection
from typing import NamedTuple


class Repetition(NamedTuple):
    """The cases of a folder or file that have one of these values, outside the files kept."""

    place: str
    values: frozenset[str]
    kept: Collection[str]

    def holds(self, file: str, values: Collection[object]) -> bool:
        """Tell whether a case with these parameters is one of them."""
        name = file.rpartition("/")[2]
        inside = file == self.place or file.startswith(f"{self.place}/")
        texts = {value for value in values if isinstance(value, str)}
        return inside and name not in self.kept and not self.values.isdisjoint(texts)


REPETITIONS = (
    Repetition(
        "tests/being/tools", frozenset({"lambda"}), ("test_tools.py", "test_get_context.py")
    ),
    Repetition("tests/cli", frozenset({"stack"}), ("test_data_commands.py", "test_dlq.py")),
    Repetition("tests/being/memory", frozenset({"aws"}), ("test_search.py",)),
    Repetition("tests/being/orders/sessions", frozenset({"lambda"}), ()),
    # The item store has a suite of its own, which both stores pass in the default run. These write
    # through it alone, by thousands of requests to the fake DynamoDB.
    *(
        Repetition(place, frozenset({"dynamodb"}), ())
        for place in (
            "tests/access/test_set_clocks.py",
            "tests/being/memory/conversations/test_captured_store.py",
            "tests/being/memory/store/test_corrections.py",
            "tests/being/memory/store/test_edits.py",
            "tests/being/memory/store/test_evidence.py",
            "tests/being/memory/store/test_history.py",
            "tests/being/memory/store/test_kept_questions.py",
            "tests/being/memory/store/test_letters.py",
            "tests/being/memory/store/test_merges.py",
            "tests/being/memory/store/test_nodes.py",
            "tests/being/memory/store/test_origins.py",
            "tests/being/memory/store/test_recall_log.py",
            "tests/being/memory/store/test_scenes.py",
            "tests/being/memory/test_patrol_trigger.py",
            "tests/being/memory/test_target_actions.py",
            "tests/being/memory/transfer/test_portable_records.py",
            "tests/being/provenance/test_calls.py",
            "tests/being/provenance/test_memories.py",
            "tests/being/tasks/test_open_questions.py",
            "tests/being/tasks/test_tasks.py",
            "tests/firewall/approvals/test_service.py",
            "tests/firewall/policies/test_version_store.py",
        )
    ),
    # The rules about results of servers and the defences of the memory know no wiring. Their table
    # has a suite of its own too, and each of these cases deploys a stack.
    Repetition("tests/gateway/test_tainted_calls.py", frozenset({"stack"}), ()),
    Repetition("tests/end_to_end/poisoning/test_poisoning.py", frozenset({"stack"}), ()),
    # Clients of the older generation do here what those of the newer one do.
    Repetition("tests/end_to_end/clients/test_memory.py", frozenset({"legacy"}), ()),
)


def repetition_of(file: str, values: Collection[object]) -> Repetition | None:
    """Return the entry by which a case of a test file belongs to the slower suites."""
    return next((each for each in REPETITIONS if each.holds(file, values)), None)
