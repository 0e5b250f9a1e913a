"""The parts that the pages about control work on, on a laptop and on a stack."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from nacre.access.beings import Beings
from nacre.being.patrol.jobs import PatrolTasks
from nacre.console.audit.newest_records import RecordFilter, look
from nacre.console.parts import Control
from nacre.console.policy.policy_choice import Rulebook
from nacre.console.servers.server_list import offers
from nacre.core.clock import system_clock
from nacre.core.errors import BrokenSealError, ConfigurationError
from nacre.firewall.audit.entry import AuditEntry
from nacre.firewall.audit.log import AuditTrail
from nacre.firewall.audit.stored_log import ItemAudit
from nacre.firewall.policies.stored_policy import GLOBAL
from nacre.gateway.servers.store import ServerStore
from nacre.wiring.aws import StackPorts
from nacre.wiring.compose import compose
from nacre.wiring.console import control_parts
from nacre.wiring.laptop import LaptopPorts, open_laptop
from nacre.wiring.settings import Settings
from tests.scaffolding.aws_stack import REGION, aws_stack

ALLOW = '[[rule]]\naction = "allow"\ntool = "*"\n'


@pytest.fixture(params=["laptop", "stack"])
def control(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Control]:
    """The parts as the server and the function are given them."""
    if request.param == "laptop":
        policy = str(tmp_path / "nowhere.toml")
        settings = Settings(data_folder=str(tmp_path), policy_file=policy)
        laptop = open_laptop(tmp_path / "data", settings)
        yield control_parts(laptop)
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
        yield control_parts(compose(StackPorts(settings), settings))


def test_all_that_the_pages_do_reaches_the_stores(control: Control, tmp_path: Path) -> None:
    table = control.table()
    being = Beings(table, clock=system_clock, rng=Random(1)).create("Ann", owner="me").being_id

    control.keys().set(being, "sk-test")
    run = control.patrols().ask(being, always=True)
    calls = control.patrols()
    task = PatrolTasks(calls.table, calls.trigger, control.clock, control.rng)
    report = task.report(being, task.begin(being, task="dry-run"))
    book = Rulebook(table, being, control.clock, control.policy_file)
    book.documents.push(GLOBAL, ALLOW, source="x", based_on=0, by="me")
    ServerStore(lambda: table).add("weather", {"url": "https://weather.example/mcp"})
    entry = AuditEntry(outcome="allow", server="s", method="m", being=being)
    if control.is_laptop:
        ports = LaptopPorts(tmp_path / "data")
        ports.trail.record(entry)
        ports.close()
    else:
        log = ItemAudit(table, being, clock=system_clock, new_writer=lambda: "w")
        AuditTrail(log, system_clock).record(entry)

    assert control.keys().stored(being) == "sk-test"
    assert run is not None
    assert (run.seq, report) == (1, None)
    assert (book.in_force().source, book.in_force().text) == ("all", ALLOW)
    listed = offers(table, control.servers(), control.clock()).servers
    assert [(server.name, server.state) for server in listed] == [("weather", "not asked yet")]
    assert len(look(control.records(being), being, RecordFilter()).entries) == 1
    assert {"recall", "update_notes"} <= set(control.own_tools())


def test_a_key_opens_for_its_being_alone(control: Control) -> None:
    beings = Beings(control.table(), clock=system_clock, rng=Random(1))
    ann, bob = (beings.create(name, owner="me").being_id for name in ("Ann", "Bob"))
    control.keys().set(ann, "sk-test")
    [item] = [
        stored for stored in control.table().query(f"B#{ann}").items if stored["sk"] == "SECRET#LLM"
    ]
    control.table().put({**item, "pk": str(item["pk"]).replace(ann, bob)})

    with pytest.raises(BrokenSealError):
        control.keys().stored(bob)


def test_the_policy_file_of_this_machine_is_shown_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    settings = Settings(data_folder="", policy_file=str(file))
    laptop = compose(LaptopPorts(tmp_path / "data"), settings)
    control = control_parts(laptop)
    before = control.policy_file()
    file.write_text(ALLOW)

    assert (before, control.policy_file()) == (None, ("mine.toml", ALLOW))
    laptop.close()


def test_a_function_without_its_settings_says_what_is_missing() -> None:
    ports = StackPorts(Settings(data_folder=""))

    for part, missing in (
        ("data", "NACRE_DATA_TABLE"),
        ("token_items", "NACRE_TOKENS_TABLE"),
        ("queue", "NACRE_QUEUE_URL"),
        ("vault", "NACRE_KMS_KEY"),
    ):
        with pytest.raises(ConfigurationError, match=f"{missing}: not set"):
            getattr(ports, part)
