"""The capacity model: its sums by hand, and the page that shows them."""

import subprocess
import sys
from dataclasses import replace

import pytest

from infra.cost import (
    INIT_MS,
    MEMORY_MB,
    MILLION,
    PAGE,
    PRICES,
    Load,
    Usage,
    access_log_bytes,
    bytes_per_memory,
    calls,
    measured,
    metrics_of_alarm,
    one_call,
    page_tables,
    platform_log_bytes,
    standing,
    template,
    written,
)
from infra.layers.build import ROOT
from nacre.core.limits import EXACT_ITEM_POINTS
from tests.end_to_end.load import traffic
from tests.infra.declared import functions, resources

TEXT = PAGE.read_text(encoding="utf-8")
WORDS = " ".join(TEXT.split())
FREE = Load(paused=0, fetched=0, misses=0, cold=0, dynamodb_ms=0, model_seconds=0, together=1)


def test_the_page_shows_every_table_of_the_script_as_it_is_now() -> None:
    assert written(TEXT) == TEXT, "run `python -m infra.cost --write`"
    assert {name for name in page_tables() if f"<!-- table: {name} -->" in TEXT} == {*page_tables()}


def test_the_model_is_reckoned_for_the_traffic_of_the_load_runs() -> None:
    assert dict(Load().mix) == dict(traffic.KINDS)


def test_the_model_is_reckoned_for_the_index_of_a_new_stack() -> None:
    default = template()["Parameters"]["SearchFiles"]["Default"]

    assert (default, Load().searches) == ("on", "files")


def test_every_amount_has_a_price_with_a_source_and_a_date() -> None:
    assert [name for name, _ in Usage().items()] == list(Usage.__dataclass_fields__)
    assert PRICES.keys() == Usage.__dataclass_fields__.keys()
    assert all(price.source and price.seen for price in PRICES.values())


def test_starts_take_what_the_page_of_speed_measured_at_the_memory_of_the_template() -> None:
    page = (ROOT / "docs" / "reference" / "benchmarks.md").read_text(encoding="utf-8")
    table = page.partition("| Function | 512 MB | 1024 MB | 1769 MB |")[2].splitlines()
    columns = (512, 1024, 1769)
    shown = {}
    for name in INIT_MS:
        row = next(line for line in table if line.startswith(f"| `{name}` |"))
        shown[name] = int(row.split("|")[2 + columns.index(MEMORY_MB[name])])
    given = {
        each["CodeUri"].rstrip("/").rpartition("/")[2]: each["MemorySize"]
        for each in functions().values()
    }

    assert shown == INIT_MS
    assert {name: given.get(name, given["patrol_worker"]) for name in MEMORY_MB} == MEMORY_MB


def test_a_call_that_asks_for_nothing_costs_its_invocation_alone() -> None:
    used = one_call("policy", FREE)
    found = measured()["counted"][FREE.searches]["sizes"][-1]["calls"]["policy"]["again"]

    assert found["asked"] == {}
    assert (used.http_requests, used.lambda_requests) == (1, 1)
    assert (used.read_units, used.write_units, used.sqs_requests) == (0, 0, 0)
    assert used.gb_seconds == pytest.approx(found["processor_ms"] / 1000 * 1769 / 512 * 512 / 1024)


def test_waiting_for_the_store_is_paid_for() -> None:
    slower = replace(FREE, dynamodb_ms=10)
    asked = measured()["counted"][FREE.searches]["sizes"][-1]["calls"]["recall"]["again"]["asked"]
    requests = sum(times for times, _ in asked.values())
    more = one_call("recall", slower).gb_seconds - one_call("recall", FREE).gb_seconds

    assert more == pytest.approx(requests * 0.010 * 1024 / 1024, rel=0.1)


def test_recalls_in_one_batch_share_its_deletion_and_its_announcement() -> None:
    alone, four, many = (one_call("recall", replace(FREE, together=n)) for n in (1, 4, 100))

    assert alone.write_units - four.write_units == pytest.approx(2 - 2 / 4)
    assert alone.write_units - many.write_units == pytest.approx(2 - 2 / 6)  # as many as it takes
    assert alone.read_units - four.read_units == pytest.approx(1 - 1 / 4)
    assert one_call("update_notes", FREE) == one_call("update_notes", replace(FREE, together=4))


def test_an_order_is_paid_for_while_its_model_thinks() -> None:
    thinking = replace(FREE, model_seconds=3)
    more = one_call("order_being", thinking).gb_seconds - one_call("order_being", FREE).gb_seconds

    assert more == pytest.approx(3.0)


def test_among_the_items_a_search_reads_as_many_units_more_as_there_are_memories() -> None:
    among = replace(FREE, searches="items")
    few, many = (one_call("recall", replace(among, memories=memories)) for memories in (100, 1100))
    found = one_call("recall", replace(FREE, searches="qdrant", memories=1100))

    assert 400 < many.read_units - few.read_units < 900  # 2.5 KB each, four in a unit
    assert found == one_call("recall", replace(FREE, searches="qdrant", memories=100))
    assert many.write_units == pytest.approx(few.write_units)


def test_a_search_of_files_reads_as_many_units_of_any_number_of_memories() -> None:
    few, many = (one_call("recall", Load(memories=memories)) for memories in (100, 20_000))
    known, fetched = (one_call("recall", replace(FREE, fetched=share)) for share in (0, 1))

    assert (few.read_units, few.write_units) == (many.read_units, many.write_units)
    assert few.gb_seconds < many.gb_seconds  # a file is fetched as a whole
    assert (known.blob_reads, fetched.blob_reads) == (0, 1)
    assert known.read_units < fetched.read_units


def test_all_calls_are_the_sum_of_their_kinds() -> None:
    load = replace(FREE, calls=1000, mix={"recall": 1, "policy": 3})
    by_hand = one_call("recall", load) * 250 + one_call("policy", load) * 750

    assert calls(load) == by_hand
    assert by_hand.dollars == pytest.approx(
        250 * one_call("recall", load).dollars + 750 * one_call("policy", load).dollars
    )


def test_what_is_kept_costs_by_beings_and_memories() -> None:
    one, thousand = (standing(replace(FREE, beings=beings)) for beings in (1, 1000))

    assert thousand.table_gb == pytest.approx(1000 * one.table_gb)
    assert one.table_gb * 10**9 == pytest.approx(FREE.memories * bytes_per_memory(FREE))
    assert 5_000 < bytes_per_memory(FREE) < 20_000


def test_traces_cost_what_the_parameter_asks_for() -> None:
    plain, traced = (one_call("recall", replace(FREE, traced=share)) for share in (0, 0.05))

    assert plain.traces == 0
    assert (traced.dollars - plain.dollars) * MILLION == pytest.approx(0.05 * 5)


def test_an_alarm_costs_as_many_metrics_as_it_compares() -> None:
    metric: dict[str, object] = {"MetricStat": {}}
    share = {"Metrics": [{"Expression": "a / b"}, metric, metric]}

    assert metrics_of_alarm({"Type": "AWS::CloudWatch::Alarm", "Properties": share}) == 2
    assert metrics_of_alarm({"Type": "AWS::CloudWatch::Alarm", "Properties": {}}) == 1
    assert metrics_of_alarm({"Type": "AWS::SNS::Topic", "Properties": {}}) == 0
    assert standing(FREE).alarm_metrics > len(resources("AWS::CloudWatch::Alarm"))


def test_metrics_of_routes_are_six_for_each_route() -> None:
    more = standing(replace(FREE, route_metrics=True)).metrics - standing(FREE).metrics

    assert more == 6 * len(resources("AWS::ApiGatewayV2::Route"))
    assert f"six metrics for each of {more // 6:.0f} routes: {0.3 * more:.0f} dollars" in WORDS


def test_logs_are_those_that_the_template_asks_for() -> None:
    used = one_call("policy", FREE)
    own = measured()["counted"][FREE.searches]["sizes"][-1]["calls"]["policy"]["again"]["log_bytes"]
    levels = {each["LoggingConfig"]["SystemLogLevel"] for each in functions().values()}

    assert levels == {"WARN"}
    assert platform_log_bytes() == 0  # at WARN only failures are logged by the platform
    assert used.log_gb * 10**9 == pytest.approx(own + access_log_bytes())
    assert f"a line of the access log has {access_log_bytes()} bytes" in WORDS
    assert one_call("policy", replace(FREE, log_days=60)).log_gb_months == pytest.approx(
        2 * used.log_gb_months
    )


def test_the_goals_for_a_million_calls_are_held() -> None:
    """Two dollars without a memory; nine for a recall of 200 memories, ten of 2,000."""
    plain = one_call("policy", Load()).dollars * MILLION
    recalls = [
        one_call("recall", Load(searches="files", memories=memories)).dollars * MILLION
        for memories in (200, 2000)
    ]

    assert plain <= 2
    assert (recalls[0] <= 9, recalls[1] <= 10) == (True, True), recalls


def test_what_the_page_says_of_its_tables_in_words_is_so() -> None:
    loads = [Load(), Load(searches="items"), Load(searches="qdrant")]
    files, items, qdrant = (calls(load).dollars for load in loads)
    recalls = [one_call("recall", load).dollars * MILLION for load in loads]
    order = one_call("order_being", Load(searches="qdrant")).dollars * MILLION
    idle = one_call("order_being", Load(searches="qdrant", model_seconds=0)).dollars * MILLION

    assert f"at {files:.0f} dollars, {items:.0f} without `SearchFiles`" in WORDS
    assert f"{qdrant:.0f} with Qdrant" in WORDS
    assert f"cost {recalls[0]:.1f} dollars, {recalls[1]:.0f} without `SearchFiles`" in WORDS
    assert f"and {recalls[2]:.1f} with Qdrant; " in WORDS
    everywhere = one_call("recall", Load(fetched=1)).dollars * MILLION
    assert f"would make it {everywhere:.1f} dollars" in WORDS
    assert f"{order - idle:.0f} of the {order:.0f} dollars" in WORDS


def test_a_memory_too_large_to_search_among_the_items_is_refused() -> None:
    with pytest.raises(ValueError, match="--searches files"):
        Load(memories=EXACT_ITEM_POINTS + 1, searches="items")
    assert Load(memories=100_000, searches="qdrant").searches == "qdrant"


def test_the_script_prints_what_another_load_costs() -> None:
    arguments = [sys.executable, "-m", "infra.cost", "--searches", "qdrant", "--calls", "5000000"]
    arguments += ["--beings", "100", "--mix", "recall=3,policy=1"]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Mix: recall 75 %, policy 25 %\n")
    assert "A month of 5,000,000 calls and 100 Beings" in done.stdout


def test_the_script_names_a_call_that_it_does_not_know() -> None:
    arguments = [sys.executable, "-m", "infra.cost", "--mix", "recal=1"]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert "no such calls: recal" in done.stderr
