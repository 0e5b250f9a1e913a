"""What the pages about control stand on, on a laptop and on a stack."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from nacre.access.beings import Beings
from nacre.being.patrol.worker_requests import Tasks
from nacre.console.audit.newest_records import Wanted, look
from nacre.console.control_parts import Control
from nacre.console.policy.policy_choice import Rulebook
from nacre.console.servers.server_list import offers
from nacre.core.clock import system_clock
from nacre.core.errors import BrokenSealError, ConfigurationError
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail
from nacre.firewall.audit.stored_log import ItemAudit
from nacre.firewall.policies.stored_policy import GLOBAL
from nacre.gateway.servers.store import ServerStore
from nacre.wiring.control import laptop_control, stack_control
from nacre.wiring.features.firewall import laptop_trail
from nacre.wiring.laptop import open_laptop
from nacre.wiring.settings import Settings
from tests.aws_stack import REGION, aws_stack

ALLOW = '[[rule]]\naction = "allow"\ntool = "*"\n'


@pytest.fixture(params=["laptop", "stack"])
def control(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Control]:
    """The parts as the server and the function are given them."""
    if request.param == "laptop":
        policy = str(tmp_path / "nowhere.toml")
        laptop = open_laptop(tmp_path / "data")
        yield laptop_control(laptop, Settings(data_folder=str(tmp_path), policy_file=policy))
        laptop.close()
        return
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with aws_stack() as stack:
        settings = Settings(
            data_folder="",
            region=REGION,
            data_table=stack.ids["DataTable"],
            queue_url=stack.ids["PatrolQueue"],
            key_arn=stack.ids["NacreKey"],
        )
        yield stack_control(settings)


def test_all_that_the_pages_do_reaches_the_stores(control: Control, tmp_path: Path) -> None:
    table = control.table()
    being = Beings(table, clock=system_clock, rng=Random(1)).create("Ann", owner="me").being_id

    control.keys().set(being, "sk-test")
    asked = control.patrols().ask(being, always=True)
    calls = control.patrols()
    task = Tasks(calls.table, calls.trigger, control.clock, control.rng)
    report = task.report(being, task.begin(being, task="dry-run"))
    book = Rulebook(table, being, control.clock, control.policy_file)
    book.documents.push(GLOBAL, ALLOW, source="x", based_on=0, by="me")
    ServerStore(lambda: table).add("weather", {"url": "https://weather.example/mcp"})
    log = ItemAudit(table, being, clock=system_clock, new_writer=lambda: "w")
    trail = AuditTrail(log, system_clock)
    if control.is_laptop:
        trail = laptop_trail(tmp_path / "data", table, system_clock)
    trail.record(AuditEntry(outcome="allow", server="s", method="m", being=being))
    trail.close()

    assert control.keys().stored(being) == "sk-test"
    assert asked is not None
    assert (asked.seq, report) == (1, None)
    assert (book.in_force().source, book.in_force().text) == ("all", ALLOW)
    assert [each.name for each in offers(table, control.servers()).servers] == ["weather"]
    assert len(look(control.records(being), being, Wanted()).entries) == 1
    assert {"recall", "update_notes"} <= set(control.own_tools())


def test_a_key_opens_for_its_being_alone(control: Control) -> None:
    beings = Beings(control.table(), clock=system_clock, rng=Random(1))
    ann, bob = (beings.create(name, owner="me").being_id for name in ("Ann", "Bob"))
    control.keys().set(ann, "sk-test")
    [item] = [
        each for each in control.table().query(f"B#{ann}").items if each["sk"] == "SECRET#LLM"
    ]
    control.table().put({**item, "pk": str(item["pk"]).replace(ann, bob)})

    with pytest.raises(BrokenSealError):
        control.keys().stored(bob)


def test_the_policy_file_of_this_machine_is_shown_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    laptop = open_laptop(tmp_path / "data")
    control = laptop_control(laptop, Settings(data_folder="", policy_file=str(file)))
    before = control.policy_file()
    file.write_text(ALLOW)

    assert (before, control.policy_file()) == (None, ("mine.toml", ALLOW))
    laptop.close()


def test_a_function_without_its_settings_says_what_is_missing() -> None:
    control = stack_control(Settings(data_folder=""))

    for part, missing in (
        (control.table, "NACRE_DATA_TABLE"),
        (control.patrols, "NACRE_QUEUE_URL"),
        (control.keys, "NACRE_KMS_KEY"),
    ):
        with pytest.raises(ConfigurationError, match=missing):
            part()
