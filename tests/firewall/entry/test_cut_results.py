"""Results of the MCP entry that are above a limit, and the whole that their caller may read."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from nacre.adapters.files.blobs import FileBlobs
from nacre.core.coroutines import step
from nacre.core.errors import BlockedError, UnavailableError
from nacre.core.lazy_dataclasses import replace
from nacre.firewall.enforce.judge import Judge
from nacre.firewall.entry.cut_results import CutResults
from nacre.firewall.limits.call_limits import CallLimits
from nacre.firewall.limits.whole_results import WholeResults
from nacre.firewall.policies.live_policy import FixedPolicy
from nacre.ports.items.table import Table
from nacre.protocol.context import Context
from nacre.protocol.encoded_results import spelled
from nacre.protocol.principal import FULL, Principal
from tests.adapters.conftest import StillClock
from tests.firewall.deciding import call, policy
from tests.firewall.entry.test_guarded_surface import Entry, entry
from tests.firewall.guarding import Notebook

NOTE = "A long note. " * 15
WRITE = {"name": "update_notes", "arguments": {"notes": [f"{n} {NOTE}" for n in range(10)]}}
READ = {"name": "get_context", "arguments": {}}
ALLOW = '[[rule]]\naction = "allow"\ntool = "**"\n'
LIMIT = '[[limit]]\ntool = "get_context"\nresult_bytes = 1000\n'


def read_notes(server: Entry, *, reader: str = "t1") -> tuple[dict[str, Any], dict[str, Any]]:
    """Write a long note, read it, and return the result and the answer to reading the whole."""
    assert "isError" not in server.ask("tools/call", WRITE)["result"]
    result = server.ask("tools/call", READ)["result"]
    [link] = [block for block in result["content"] if block["type"] == "resource_link"]
    server.principal = replace(server.principal, subject=reader)
    return result, server.ask("resources/read", {"uri": link["uri"]})


def test_a_cut_result_links_the_whole_which_its_caller_reads(tmp_path: Path) -> None:
    with entry(tmp_path, ALLOW + LIMIT) as server:
        result, read = read_notes(server)
        records = server.records()

    assert "A long note." in result["content"][0]["text"]
    assert result["content"][1]["text"].startswith("[Cut by policy (limit 1): this result is ")
    whole = "".join(part.get("text", "") for part in read["result"]["contents"])
    assert all(f"{number} {NOTE}".strip() in whole for number in range(10))
    [cut] = [record for record in records if record["outcome"] == "note"]
    assert cut["method"] == "tools/call"
    assert "was cut and stored as" in cut["note"]
    assert "(limit 1)" in cut["note"]
    assert cut["principal"] == "t1"


@pytest.mark.security
def test_another_token_of_the_being_reads_nothing(tmp_path: Path) -> None:
    with entry(tmp_path, ALLOW + LIMIT) as server:
        _, read = read_notes(server, reader="t2")

    assert "Resource not found" in read["error"]["message"]


@pytest.mark.security
def test_the_policy_decides_about_reading_the_whole(tmp_path: Path) -> None:
    deny = '[[rule]]\naction = "deny"\nresource = "nacre://results/**"\n'
    with entry(tmp_path, deny + ALLOW + LIMIT) as server:
        _, read = read_notes(server)

    assert read["error"]["code"] == -31001


def test_the_whole_is_not_cut_again(tmp_path: Path) -> None:
    everything = LIMIT.replace('"get_context"', '"**"')
    with entry(tmp_path, ALLOW + everything) as server:
        _, read = read_notes(server)

    assert str(read["result"]["contents"]).count(NOTE.strip()) >= 10


def test_own_resources_are_cut_too(tmp_path: Path) -> None:
    limit = '[[limit]]\nresource = "nacre://**"\nresult_bytes = 1000\n'
    with entry(tmp_path, ALLOW + limit) as server:
        server.ask("tools/call", WRITE)
        contents = server.ask("resources/read", {"uri": "nacre://notes"})["result"]["contents"]

    assert contents[-1]["text"].startswith("[Cut by policy (limit 1)")


class Place:
    """Cuts results of a server behind the entry."""

    def __init__(self, table: Table, clock: StillClock, folder: Path, settings: str = "") -> None:
        self.audit, self.told = Notebook(), list[str]()
        self.blobs = FileBlobs(folder, now=clock)
        text = ALLOW + '[[limit]]\ntool = "read"\nresult_bytes = 1000\n' + settings
        self.judge = Judge(
            FixedPolicy(policy(text)),
            self.audit,
            self.told.append,
            "fs",
            limits=CallLimits(table, clock),
        )
        whole = WholeResults(lambda: self.blobs, clock, Random(2))
        self.results = CutResults(lambda: whole)
        self.context = replace(Context.detached(), principal=Principal("tok_1", "b1", FULL))

    def fitted(self, value: Any, tool: str = "read") -> Any:
        return step(self.results.fitted(self.judge, call(tool), "tools/call", value, self.context))


LONG = {"content": [{"type": "text", "text": "x" * 5000}]}


@pytest.fixture
def place(table: Table, clock: StillClock, tmp_path: Path) -> Place:
    return Place(table, clock, tmp_path / "blobs")


def test_results_within_the_limit_and_of_others_pass_unchanged(place: Place) -> None:
    short = {"content": [{"type": "text", "text": "x" * 900}]}

    assert place.fitted(short) is short
    assert place.fitted(LONG, "write") is LONG
    assert place.audit.entries == []


def test_an_encoded_result_is_cut_like_any_other(place: Place) -> None:
    plain, encoded = place.fitted(LONG), place.fitted(spelled(LONG))

    assert plain["content"][0] == encoded["content"][0]
    uri = encoded["content"][-1]["uri"]
    [part] = step(place.results.read(uri, place.context))["contents"]
    assert part["text"] == "x" * 5000


def test_a_store_that_fails_costs_the_rest_and_not_the_call(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise UnavailableError("the disk is full")

    monkeypatch.setattr(place.blobs, "put", fail)

    fitted = place.fitted(LONG)

    assert fitted["content"][-1]["text"].endswith("The rest could not be stored.]")
    assert place.told == ["a result that was cut could not be stored: the disk is full"]
    assert "could not be stored (limit 1)" in str(place.audit.entries[0].note)


def test_without_an_audit_nothing_is_returned(place: Place) -> None:
    place.audit.fails = True

    with pytest.raises(BlockedError, match="the audit cannot be written"):
        place.fitted(LONG)


def test_monitoring_only_records_what_would_be_cut(
    table: Table, clock: StillClock, tmp_path: Path
) -> None:
    place = Place(table, clock, tmp_path / "blobs", '[settings]\nmode = "monitor"\n')

    assert place.fitted(LONG) is LONG
    assert place.audit.entries[0].note == "a result of 5,039 bytes would be cut (limit 1)"
