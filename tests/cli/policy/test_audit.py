"""`nacre audit` and `nacre approve`: what was decided, and which tools are trusted."""

import json
from pathlib import Path

import pytest

from nacre.adapters.sqlite.database import SqliteDatabase
from nacre.adapters.sqlite.table import SqliteTable
from nacre.core.clock import system_clock
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail
from nacre.firewall.audit.stored_log import ItemAudit
from nacre.firewall.pins import GLOBAL, Pins
from nacre.wiring.data_folder import DATABASE
from nacre.wiring.laptop import LaptopPorts
from tests.cli.conftest import Nacre
from tests.cli.worlds import World


def recorded(folder: Path, nacre: Nacre) -> Path:
    """Record three calls, and return their file."""
    nacre("owner", "list")  # makes the folder
    ports = LaptopPorts(folder)
    for number in range(3):
        ports.trail.record(
            AuditEntry(
                outcome="deny" if number else "allow",
                server="fs",
                method="tools/call",
                tool=f"tool\x1b[2J{number}",
                rule=number + 1,
                principal="local",
                enforced=number < 2,
            )
        )
    ports.close()
    return folder / "audit" / "laptop-1.000001.jsonl"


def test_the_newest_records_are_shown_in_order(nacre: Nacre, folder: Path) -> None:
    recorded(folder, nacre)
    shown = nacre("audit", "tail", "-n", "2").out.splitlines()

    assert [line.split("  ", 1)[1] for line in shown] == [
        "deny    fs  tools/call  tool\\u001b[2J1  rule 2  local  laptop-1/2",
        "deny    fs  tools/call  tool\\u001b[2J2  rule 3  (monitored)  local  laptop-1/3",
    ]
    lines = nacre("audit", "tail", "--json").out.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3]


def test_nothing_recorded_is_said(nacre: Nacre) -> None:
    nacre("owner", "list")

    assert nacre("audit", "tail").err == "There are no records yet.\n"
    assert nacre("audit", "tail", "-n", "0").code == 2
    assert nacre("audit", "verify").code == 0


def test_verifying_finds_what_was_changed(nacre: Nacre, folder: Path) -> None:
    file = recorded(folder, nacre)
    assert nacre("audit", "verify").out == "laptop-1  3 records  complete\n"

    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:2]))
    cut = nacre("audit", "verify")

    assert (cut.code, cut.out) == (
        1,
        "laptop-1  2 records  the last 1 of the records are missing\n",
    )


def test_a_chain_that_was_erased_with_all_its_notes_is_missed(nacre: Nacre, folder: Path) -> None:
    for path in recorded(folder, nacre).parent.iterdir():
        path.unlink()

    assert nacre("audit", "verify").code == 1


def test_a_copy_is_private_and_can_be_checked(nacre: Nacre, folder: Path, tmp_path: Path) -> None:
    file = recorded(folder, nacre)
    copy = tmp_path / "copy.jsonl"

    assert nacre("audit", "export", str(copy)).err == "Wrote 3 records.\n"

    assert copy.read_bytes() == file.read_bytes()
    assert copy.stat().st_mode & 0o777 == 0o600
    assert nacre("audit", "export").out == copy.read_text()
    assert nacre("audit", "verify", str(copy)).code == 0
    copy.write_text(copy.read_text().replace("allow", "deny"))
    assert nacre("audit", "verify", str(copy)).code == 1
    assert nacre("audit", "export", str(copy)).code == 2
    assert nacre("audit", "verify", str(tmp_path / "none")).code == 3


@pytest.mark.parametrize("world", ["stack"], indirect=True)
def test_a_stack_keeps_the_records_of_each_being(nacre: Nacre, world: World) -> None:
    being = nacre("being", "create", "Ann", *world.options).out.strip()
    log = ItemAudit(world.table, being, clock=system_clock, new_writer=lambda: "w1")
    trail = AuditTrail(log, system_clock)
    trail.record(AuditEntry(outcome="allow", server="nacre", method="resources/read"))

    shown = nacre("audit", "tail", "--being", "Ann", *world.options).out

    assert "allow   nacre  resources/read  w1/1" in shown
    checked = nacre("audit", "verify", "--being", "Ann", *world.options)
    assert checked.out == "w1  1 record  complete\n"


# Tools.

READ = {"name": "read", "description": "Read a file"}


def changed(folder: Path, nacre: Nacre) -> Pins:
    nacre("owner", "list")
    database = SqliteDatabase(folder / DATABASE)
    pins = Pins(SqliteTable(database), GLOBAL)
    pins.observe("fs", [READ], is_first=True)
    new = {"name": "n\x1b[31mew"}
    pins.observe("fs", [{**READ, "description": "Send it\u202e away"}, new], is_first=False)
    database.close()
    return pins


def test_the_difference_is_shown_and_trusted_on_a_yes(nacre: Nacre, folder: Path) -> None:
    changed(folder, nacre)

    shown = nacre("approve", "fs", "--yes")

    assert shown.out.splitlines() == [
        "n\\u001b[31mew: new",
        "  --- trusted",
        "  +++ now",
        "  @@ -0,0 +1,3 @@",
        "  +{",
        '  +  "name": "n\\u001b[31mew"',
        "  +}",
        "read: changed",
        "  --- trusted",
        "  +++ now",
        "  @@ -1,4 +1,4 @@",
        "   {",
        '  -  "description": "Read a file",',
        '  +  "description": "Send it\\u202e away",',
        '     "name": "read"',
        "   }",
    ]
    assert shown.err == "Trusted 2 tools of fs.\n"
    assert nacre("approve", "fs").err == "Nothing of fs waits for approval.\n"
    assert nacre("approve").out == "fs  nothing waits\n"


def test_one_tool_can_be_trusted_alone(nacre: Nacre, folder: Path) -> None:
    changed(folder, nacre)

    assert nacre("approve", "fs", "read", "--yes").code == 0

    assert nacre("approve", "--json").json() == {"fs": ["n\x1b[31mew"]}


def test_programs_see_the_difference_and_change_nothing(nacre: Nacre, folder: Path) -> None:
    changed(folder, nacre)
    facts = nacre("approve", "fs", "read", "--json").json()

    assert facts == [
        {
            "kind": "tool",
            "tool": "read",
            "state": "changed",
            "trusted": READ,
            "now": {**READ, "description": "Send it\u202e away"},
        }
    ]
    assert nacre("approve", "fs", "read", "--json").json() == facts


def test_what_does_not_exist_is_named(nacre: Nacre, folder: Path) -> None:
    changed(folder, nacre)

    assert nacre("approve", "other").code == 3
    assert nacre("approve", "fs", "none").code == 3
