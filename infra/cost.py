"""The resources that a stack uses and their cost on AWS, from counted calls.

python -m infra.cost prints what a million calls of the stated mix cost; its options state another
mix, another size of memory, or another index. `infra/measured.json` holds the requests of one call
of each kind, counted by `python -m tests.end_to_end.load.counting`; a test counts again. Every
other number is an assumption and stands here with its reason, or a price with its source.
"""

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, Literal

from samtranslator.yaml_helper import yaml_parse

from infra.layers.build import ROOT
from nacre.core.limits import EXACT_ITEM_POINTS
from nacre.core.metrics import METRICS

MEASURED = ROOT / "infra" / "measured.json"
PAGE = ROOT / "docs" / "reference" / "costs.md"
MILLION = 1_000_000
HOT_RECALLS = 20  # a second on one Being
PARTITION_READS, PARTITION_WRITES = 3000, 1000  # units a second that DynamoDB serves of one
HOURS = 730  # of a month, as AWS counts them
_GIGABYTE = 10**9
_WHOLE_CPU_MB = 1769  # at this much memory a function has one processor
_QUERY_BYTES = 2**20  # what one page of a query holds
_READ_BYTES = 4096  # of a read unit
_FILE_BYTES = 1300  # of a memory in a file: benchmarks.md, and the two below
_FILE_READ_MS = 0.04  # of a memory in a file: 0.023 to read it, and the way at 75 MB a second
_FILE_WRITE_MS = 0.03  # 0.01 to write it, and the same way

Searches = Literal["items", "files", "qdrant"]


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one unit in us-east-1, without any free tier."""

    what: str
    dollars: float
    per: float
    unit: str
    source: str
    seen: str  # when the source was written


_DYNAMODB = ("airbyte.com/data-engineering-resources/dynamodb-pricing", "2025-07-21")
_LAMBDA = ("cloudchipr.com/blog/aws-lambda-pricing", "2025")
_LAMBDA_REQUESTS = ("rex.mindmeld360.com/blog/aws-lambda-pricing-guide-2025", "2026-01-19")
_HTTP_API = ("appropri8-astro.pages.dev, tutorial of 2025-12-02 on a simple API", "2025-12-02")
_SQS = ("cloudburn.io/blog/amazon-sqs-pricing", "2026-03-14")
_CLOUDWATCH = ("factualminds.com/blog/amazon-cloudwatch-pricing", "2026-06-13")
_METRICS = ("signoz.io/guides/cloudwatch-pricing", "2026-02-15")
_KMS = ("cloudburn.io/blog/aws-kms-pricing", "2026-03-14")
_DYNAMODB_GB = ("aws.amazon.com/dynamodb/pricing, a stored copy", "unknown")
_ALARMS = ("c3x.dev/resources/aws/aws_cloudwatch_metric_alarm", "unknown")
_CLOUDWATCH_PAGE = ("aws.amazon.com/cloudwatch/pricing, from memory", "unknown")
_XRAY = ("aws.amazon.com/xray/pricing, a stored copy", "unknown")
_UNCHECKED = ("from memory; no source was at hand", "unknown")

PRICES: Mapping[str, Price] = {
    "http_requests": Price("API Gateway, HTTP API", 1.00, MILLION, "requests", *_HTTP_API),
    "lambda_requests": Price("Lambda, requests", 0.20, MILLION, "requests", *_LAMBDA_REQUESTS),
    "gb_seconds": Price("Lambda, arm64", 0.0000133334, 1, "GB-seconds", *_LAMBDA),
    "read_units": Price("DynamoDB, on-demand reads", 0.125, MILLION, "units", *_DYNAMODB),
    "write_units": Price("DynamoDB, on-demand writes", 0.625, MILLION, "units", *_DYNAMODB),
    "sqs_requests": Price("SQS, FIFO", 0.50, MILLION, "requests", *_SQS),
    "log_gb": Price("CloudWatch, logs taken in", 0.50, 1, "GB", *_CLOUDWATCH),
    "log_gb_months": Price(
        "CloudWatch, logs that are kept", 0.03, 1, "GB-months", *_CLOUDWATCH_PAGE
    ),
    "traces": Price("X-Ray, traces", 5.00, MILLION, "traces", *_XRAY),
    "out_gb": Price("Traffic to the internet", 0.09, 1, "GB", *_HTTP_API),
    "table_gb": Price("DynamoDB, storage", 0.25, 1, "GB-months", *_DYNAMODB_GB),
    "backup_gb": Price("DynamoDB, point-in-time recovery", 0.20, 1, "GB-months", *_UNCHECKED),
    "alarm_metrics": Price("CloudWatch, metrics of alarms", 0.10, 1, "metrics", *_ALARMS),
    "metrics": Price("CloudWatch, own metrics", 0.30, 1, "metrics", *_METRICS),
    "dashboards": Price("CloudWatch, dashboard", 3.00, 1, "dashboards", *_CLOUDWATCH),
    "keys": Price("KMS, key", 1.00, 1, "keys", *_KMS),
    "key_requests": Price("KMS, requests", 0.03, 10_000, "requests", *_KMS),
    "blob_gb": Price("S3, standard", 0.023, 1, "GB-months", *_UNCHECKED),
    "blob_writes": Price("S3, PutObject", 0.005, 1000, "requests", *_UNCHECKED),
    "blob_reads": Price("S3, GetObject", 0.0004, 1000, "requests", *_UNCHECKED),
}


@dataclass(frozen=True, slots=True)
class Load:
    """The calls to a stack in a month."""

    calls: float = MILLION
    mix: Mapping[str, float] = field(
        default_factory=lambda: {
            "recall": 40,
            "search_memory": 20,
            "update_notes": 20,
            "order_being": 5,
            "policy": 15,
        }
    )
    beings: int = 1000
    memories: int = 200  # of each Being
    searches: Searches = "files"  # as the template's SearchFiles
    fetched: float = 0.2  # share of calls whose function has not searched this Being for a while
    paused: float = 1.0  # share of calls that come when a function has let go of policy and names
    together: float = 4  # recalls of a Being that one function logs until a patrol counts them
    misses: float = 0.1  # share of calls whose token API Gateway has not kept for a minute
    cold: float = 0.005  # share of calls that start a function: usual for steady traffic
    traced: float = 0.0  # the parameter TracesSample
    route_metrics: bool = False  # the parameter RouteMetrics
    log_days: int = 30  # the parameter LogRetentionDays
    dynamodb_ms: float = 5.0  # of one request, which AWS calls single-digit
    model_seconds: float = 4.0  # that the language model takes for an order of two questions

    def __post_init__(self) -> None:
        if self.searches == "items" and self.memories > EXACT_ITEM_POINTS:
            raise ValueError(
                f"beyond {EXACT_ITEM_POINTS} memories a search without Qdrant looks at the newest"
                " alone, and is not worth its price: reckon with --searches files"
            )

    def share(self, kind: str) -> float:
        """Return which part of the calls is of a kind."""
        return self.mix.get(kind, 0) / sum(self.mix.values())


MEMORY_MB = {"mcp_http": 1024, "token_authorizer": 512, "policy_evaluator": 512, "worker": 1769}
INIT_MS = {"mcp_http": 192, "token_authorizer": 225, "policy_evaluator": 164}  # docs: benchmarks.md
_PLATFORM_LOG_BYTES = {  # of a good invocation by SystemLogLevel: start and report, as JSON
    "DEBUG": 700,
    "INFO": 700,
    "WARN": 0,
}
_DAYS = HOURS / 24
_ROUTE_METRICS = 6  # Count, 4xx, 5xx, Latency, IntegrationLatency, DataProcessed
# Typical values in a line of the access log; others are a dash or three digits.
_ACCESS_LOG_VALUES = {
    "requestId": "T9oEXjQxoAMEPyQ=",
    "requestTimeEpoch": "1763560000000",
    "routeKey": "POST /mcp/{beingId}",
    "authorizer.token_id": "0123456789abcdef",
}
# The recalls that a call logs, each by how many of its kind fit one batch: of three memories, or of
# ten, as tests/being/memory/store/test_recall_batches.py counts them.
_LOGGED = {"recall": (6,), "search_memory": (2,), "order_being": (6, 2)}
_BATCH_WRITES = 2  # the patrol deletes a batch in the transaction that counts its recalls
_HEAD_WRITES = 1  # of the audit's chain, stored once a minute in which there are calls
_POLLS_A_MINUTE = 5 * 3  # five pollers of an idle queue that wait twenty seconds each


@dataclass(frozen=True, slots=True)
class Usage:
    """The amount of each paid unit; the names are those of the prices."""

    http_requests: float = 0
    lambda_requests: float = 0
    gb_seconds: float = 0
    read_units: float = 0
    write_units: float = 0
    sqs_requests: float = 0
    log_gb: float = 0
    log_gb_months: float = 0
    traces: float = 0
    out_gb: float = 0
    table_gb: float = 0
    backup_gb: float = 0
    blob_gb: float = 0
    blob_writes: float = 0
    blob_reads: float = 0
    key_requests: float = 0
    alarm_metrics: float = 0
    metrics: float = 0
    dashboards: float = 0
    keys: float = 0

    def __add__(self, more: "Usage") -> "Usage":
        return Usage(*(a + b for (_, a), (_, b) in zip(self.items(), more.items(), strict=True)))

    def __mul__(self, times: float) -> "Usage":
        return Usage(*(amount * times for _, amount in self.items()))

    def items(self) -> Iterator[tuple[str, float]]:
        """Give each amount under its name."""
        for column in fields(self):
            yield column.name, getattr(self, column.name)

    @property
    def dollars(self) -> float:
        """Return the cost."""
        return sum(map(line_dollars, *zip(*self.items(), strict=True)))


def line_dollars(name: str, amount: float) -> float:
    """Return the cost of an amount of one unit."""
    return PRICES[name].dollars * amount / PRICES[name].per


@cache
def measured() -> dict[str, Any]:
    """Return the counted and measured figures."""
    figures: dict[str, Any] = json.loads(MEASURED.read_text())
    return figures


def one_call(kind: str, load: Load) -> Usage:
    """Return the usage of one call of a kind, with the work that follows later."""
    function = "policy_evaluator" if kind == "policy" else "mcp_http"
    called = _served(function, _mean_call(kind, load), load)
    if kind == "order_being":
        called += Usage(gb_seconds=load.model_seconds * MEMORY_MB[function] / 1024)
    usage = called + _authorized(load) + Usage(http_requests=1)
    usage += _logged(access_log_bytes(), load)
    usage += Usage(traces=load.traced)  # functions of one request share its trace
    usage += Usage(write_units=_BATCH_WRITES * sum(_batches(kind, load)))
    if kind != "policy":  # its question has no record of its own in the table
        usage += Usage(write_units=load.paused * _HEAD_WRITES)
    if kind in ("update_notes", "order_being"):  # both leave a scene behind
        usage += one_scene(load)
    return usage


def one_scene(load: Load) -> Usage:
    """Return the usage of a patrol for each scene that becomes a memory."""
    small, large = (size["patrol"] for size in _counted(load)["sizes"])
    share: float = 1 / large["scenes"]
    patrol = dict(large)
    if load.searches == "items":  # a patrol's searches read the vectors too
        before, after = (size["memories"] for size in _counted(load)["sizes"])
        times, units = large["asked"]["Query"]
        # Each patrol is counted at the middle between what it found and what it left.
        slope = (units * share - small["asked"]["Query"][1] / small["scenes"]) / (after / 2)
        units += slope * (load.memories - (before + after) / 2) / share
        patrol["asked"] = {**large["asked"], "Query": (times, max(times, units))}
    if load.searches == "files":
        files: float = large["asked"].get("s3:PutObject", (0, 0))[0]
        patrol["processor_ms"] += (_FILE_READ_MS + files * _FILE_WRITE_MS) * load.memories
    return _served("worker", patrol, load, queued=True) * share


def calls(load: Load) -> Usage:
    """Return the usage of all calls of a month."""
    usage = Usage()
    for kind in load.mix:
        usage += one_call(kind, load) * (load.calls * load.share(kind))
    return usage


def standing(load: Load) -> Usage:
    """Return the usage of a stack in a month without any call, its storage included."""
    sweep = _served("worker", _counted(load)["sweep"], load, queued=True) * HOURS
    gigabytes = load.beings * load.memories * bytes_per_memory(load) / _GIGABYTE
    files = load.beings * load.memories * _FILE_BYTES / _GIGABYTE
    if load.searches != "files":
        files = 0.0
    resources = template()["Resources"]
    kinds = Counter(resource["Type"] for resource in resources.values())
    return sweep + Usage(
        sqs_requests=_POLLS_A_MINUTE * 60 * HOURS,
        table_gb=gigabytes,
        backup_gb=gigabytes,
        blob_gb=files,
        alarm_metrics=sum(map(metrics_of_alarm, resources.values())),
        metrics=len(METRICS)
        + load.route_metrics * _ROUTE_METRICS * kinds["AWS::ApiGatewayV2::Route"],
        dashboards=kinds["AWS::CloudWatch::Dashboard"],
        keys=kinds["AWS::KMS::Key"],
    )


@cache
def template() -> dict[str, Any]:
    """Return the template as it is declared."""
    declared: dict[str, Any] = yaml_parse((ROOT / "template.yaml").read_text(encoding="utf-8"))
    return declared


def metrics_of_alarm(resource: Mapping[str, Any]) -> int:
    """Return how many metrics a resource pays for as an alarm; each metric of a sum counts."""
    if resource["Type"] != "AWS::CloudWatch::Alarm":
        return 0
    several = resource["Properties"].get("Metrics", ())
    return sum("MetricStat" in metric for metric in several) or 1


@cache
def platform_log_bytes() -> int:
    """Return the bytes that Lambda itself logs about a good invocation at the template's level."""
    levels = {
        resource["Properties"]["LoggingConfig"]["SystemLogLevel"]
        for resource in template()["Resources"].values()
        if resource["Type"] == "AWS::Serverless::Function"
    }
    return max(_PLATFORM_LOG_BYTES[level] for level in levels)


@cache
def access_log_bytes() -> int:
    """Return the bytes of a line in the access log of API Gateway."""
    stage = template()["Resources"]["HttpApiStage"]["Properties"]
    line = re.sub(
        r"\$context\.([A-Za-z_.]+)",
        lambda match: _ACCESS_LOG_VALUES.get(match.group(1), "123"),
        stage["AccessLogSettings"]["Format"],
    )
    return len(line)


def _logged(line_bytes: float, load: Load) -> Usage:
    """Return the usage of a log line: it is taken in, then kept for some days."""
    gigabytes = line_bytes / _GIGABYTE
    return Usage(log_gb=gigabytes, log_gb_months=gigabytes * load.log_days / _DAYS)


def bytes_per_memory(load: Load) -> float:
    """Return the bytes of a memory in DynamoDB: its node, scene and vector, with their indexes."""
    small, large = _counted(load)["sizes"]
    grown: float = large["stored_bytes"] - small["stored_bytes"]
    more: int = large["memories"] - small["memories"]
    return grown / more


def qdrant_gigabytes(load: Load) -> float:
    """Return the memory that Qdrant wants for the vectors of all Beings."""
    point_bytes: int = measured()["qdrant"]["resident_bytes_per_point"]
    return load.beings * load.memories * point_bytes / _GIGABYTE


def _counted(load: Load) -> dict[str, Any]:
    counted: dict[str, Any] = measured()["counted"][load.searches]
    return counted


def _large(load: Load) -> dict[str, Any]:
    counted: dict[str, Any] = _counted(load)["sizes"][-1]
    return counted


def _mean_call(kind: str, load: Load) -> dict[str, Any]:
    """Return a call as it was counted, grown to the size of the memory."""
    paused, again = (_grown(kind, when, load) for when in ("after a pause", "again"))
    mean = dict(again)
    # What a pause adds are reads of policies and names, which are single items.
    more = paused["asked"].get("GetItem", (0, 0))[0] - again["asked"].get("GetItem", (0, 0))[0]
    times, units = again["asked"].get("GetItem", (0, 0))
    added = max(0.0, more) * load.paused
    mean["asked"] = {**again["asked"], "GetItem": (times + added, units + added)}
    # Each recall was counted with a batch of its own; only the first of a batch reads whether
    # there is an announcement.
    times, units = mean["asked"].get("GetItem", (0, 0))
    shared = sum(1 - batch for batch in _batches(kind, load))
    mean["asked"]["GetItem"] = (times - shared, units - shared)
    if load.searches == "files":  # it fetches the file, and reads what has changed since
        for name in ("BatchGetItem", "s3:GetObject"):
            first, then = (call["asked"].get(name, (0, 0)) for call in (paused, again))
            mean["asked"][name] = tuple(
                now + load.fetched * max(0.0, more - now)
                for more, now in zip(first, then, strict=True)
            )
        files: float = mean["asked"]["s3:GetObject"][0]
        mean["processor_ms"] += files * load.memories * _FILE_READ_MS
    return mean


def _batches(kind: str, load: Load) -> list[float]:
    """Return the share of a batch that each recall of such a call has."""
    return [1 / min(load.together, room) for room in _LOGGED.get(kind, ())]


def _grown(kind: str, when: str, load: Load) -> dict[str, Any]:
    small, large = (size["calls"][kind][when] for size in _counted(load)["sizes"])
    requests = {name: tuple(counts) for name, counts in large["asked"].items()}
    milliseconds = large["processor_ms"]
    if load.searches == "items" and "Query" in requests:
        sizes = [size["memories"] for size in _counted(load)["sizes"]]
        further = (load.memories - sizes[1]) / (sizes[1] - sizes[0])
        units = further * (requests["Query"][1] - small["asked"]["Query"][1])
        pages = max(0.0, units) * _READ_BYTES / _QUERY_BYTES
        requests["Query"] = (
            requests["Query"][0] + pages,
            max(1.0, requests["Query"][1] + units),
        )
        milliseconds += max(0.0, further * (milliseconds - small["processor_ms"]))
    return {**large, "asked": requests, "processor_ms": milliseconds}


def _served(function: str, counts: Mapping[str, Any], load: Load, *, queued: bool = False) -> Usage:
    """Return the usage of an invocation with these counted requests."""
    asked: Mapping[str, Sequence[float]] = counts["asked"]
    memory = MEMORY_MB[function]
    round_trips = sum(times for times, _ in asked.values())
    milliseconds = (
        counts["processor_ms"] * max(1.0, _WHOLE_CPU_MB / memory)
        + round_trips * load.dynamodb_ms
        + load.cold * INIT_MS.get(function, 0)
    )
    reads = sum(asked[name][1] for name in ("GetItem", "BatchGetItem", "Query") if name in asked)
    every = sum(units for _, units in asked.values())
    to_queue = sum(times for name, (times, _) in asked.items() if name.startswith("sqs:"))
    blobs = {name: asked.get(f"s3:{name}Object", (0, 0))[0] for name in ("Get", "Put")}
    to_keys = sum(times for name, (times, _) in asked.items() if name.startswith("kms:"))
    return _logged(counts["log_bytes"] + platform_log_bytes(), load) + Usage(
        lambda_requests=1,
        gb_seconds=milliseconds / 1000 * memory / 1024,
        read_units=reads,
        write_units=every - reads,
        sqs_requests=to_queue + (2 if queued else 0),  # that it was received, and deleted
        key_requests=to_keys,
        blob_reads=blobs["Get"],
        blob_writes=blobs["Put"],
        traces=load.traced if queued else 0.0,  # nothing before it has decided
        out_gb=counts["answer_bytes"] / _GIGABYTE,
    )


def _authorized(load: Load) -> Usage:
    return _served("token_authorizer", _counted(load)["authorizer"], load) * load.misses


# What is shown.


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def bill(usage: Usage, title: str, *, digits: int) -> str:
    """Return the usage and cost of each service, and the sum."""
    rows = [
        (
            PRICES[name].what,
            f"{amount:,.{digits}f} {PRICES[name].unit}",
            f"{line_dollars(name, amount):.2f}",
        )
        for name, amount in usage.items()
        if line_dollars(name, amount) >= 0.005
    ]
    rows.append((f"**{title}**", "", f"**{usage.dollars:.2f}**"))
    return table(("What", "How much", "Dollars"), rows)


def per_million(load: Load) -> str:
    """Return the usage and cost of a million calls, service by service."""
    return bill(calls(replace(load, calls=MILLION)), "a million calls", digits=0)


def per_kind(load: Load) -> str:
    """Return the cost of a million calls of each kind."""
    rows = []
    for kind in load.mix:
        used = one_call(kind, load)
        rows.append(
            (
                f"`{kind}`",
                f"{used.gb_seconds * MILLION:,.0f}",
                _rounded(used.read_units),
                _rounded(used.write_units),
                f"{used.dollars * MILLION:,.2f}",
            )
        )
    header = ("Call", "GB-seconds a million", "read units", "write units", "dollars a million")
    return table(header, rows)


def by_size(load: Load) -> str:
    """Return the cost of a million recalls by the size of Beings, with each index."""
    rows = []
    indexes: Sequence[Searches] = ("items", "files", "qdrant")
    for memories in (50, 200, 500, 1000, 2000, 20_000):
        row: list[object] = [f"{memories:,}"]
        for searches in indexes:
            if searches == "items" and memories > EXACT_ITEM_POINTS:
                row += ["not all are searched", ""]
                continue
            sized = replace(load, memories=memories, searches=searches)
            recall = one_call("recall", sized)
            mix = calls(replace(sized, calls=MILLION))
            row += [f"{recall.dollars * MILLION:,.0f}", f"{mix.dollars:,.0f}"]
        rows.append(row)
    header = (
        "Memories of a Being",
        "recalls among the items",
        "the mix",
        "recalls with files",
        "the mix",
        "recalls with Qdrant",
        "the mix",
    )
    return table(header, rows)


def hot_being() -> str:
    """Return the units that one Being takes a second at `HOT_RECALLS`, beside the limits."""
    rows = []
    sizes: Sequence[tuple[Searches, int]] = (
        ("items", 200),
        ("items", 2000),
        ("files", 200),
        ("qdrant", 200),
    )
    for searches, memories in sizes:
        load = Load(memories=memories, searches=searches, paused=0, misses=0, together=HOT_RECALLS)
        recall = one_call("recall", load)
        rows.append(
            (
                f"{memories:,}" if searches == "items" else "any",
                searches,
                f"{HOT_RECALLS * recall.read_units:,.0f} of {PARTITION_READS:,}",
                f"{HOT_RECALLS * recall.write_units:,.0f} of {PARTITION_WRITES:,}",
            )
        )
    return table(("Memories", "searched in", "read units", "write units"), rows)


def fixed(load: Load) -> str:
    """Return the cost of a month without a call."""
    return bill(standing(load), "a month", digits=2)


def _rounded(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"


def counted(load: Load) -> str:
    """Return the counted requests of each kind of call."""
    large = _large(load)
    rows = []
    for kind, sizes in large["calls"].items():
        rows.append(_counted_row(f"`{kind}`", sizes["again"], 1))
    rows.append(
        _counted_row("a patrol, for each scene", large["patrol"], large["patrol"]["scenes"])
    )
    rows.append(_counted_row("a token that is looked up", _counted(load)["authorizer"], 1))
    rows.append(_counted_row("the hourly sweep", _counted(load)["sweep"], 1))
    header = ("Call", "requests", "which", "read units", "write units", "processor ms", "log bytes")
    return table(header, rows)


def _counted_row(name: str, counts: Mapping[str, Any], among: float) -> Sequence[object]:
    used = counts["asked"]
    reads = {"GetItem", "BatchGetItem", "Query"}
    return (
        name,
        f"{sum(times for times, _ in used.values()) / among:.1f}",
        ", ".join(f"{call} {times / among:.3g}" for call, (times, _) in used.items()) or "none",
        f"{sum(units for call, (_, units) in used.items() if call in reads) / among:.1f}",
        f"{sum(units for call, (_, units) in used.items() if call not in reads) / among:.1f}",
        f"{counts['processor_ms'] / among:.1f}",
        f"{counts['log_bytes'] / among:,.0f}",
    )


def prices() -> str:
    """Return every price with its source."""
    rows = [
        (
            row.what,
            f"{row.dollars:.10g} for {row.per:,.0f} {row.unit}",
            row.source,
            row.seen,
        )
        for row in PRICES.values()
    ]
    return table(("What", "Dollars", "Source", "Of"), rows)


def page_tables() -> dict[str, str]:
    """Return every table of docs/reference/costs.md by what it shows."""
    from infra.patrol_capacity import by_concurrency  # noqa: PLC0415  it imports this

    load = Load()
    return {
        "beings": by_concurrency(),
        "hot": hot_being(),
        "counted": counted(load),
        "a million": per_million(load),
        "kinds": per_kind(load),
        "sizes": by_size(load),
        "standing": fixed(load),
        "prices": prices(),
    }


def written(page: str) -> str:
    """Return a page with each table as it is now, after the mark that names it."""
    tables = page_tables()

    def fresh(match: re.Match[str]) -> str:
        return f"{match.group(1)}\n{tables[match.group(2)]}\n"

    return re.sub(r"(<!-- table: (.+?) -->)\n(?:\|.*\n)*", fresh, page)


def main() -> None:
    """Print what a load costs."""
    usual = Load()
    parser = argparse.ArgumentParser(prog="python -m infra.cost", description=__doc__)
    parser.add_argument("--calls", type=float, default=usual.calls, help="a month")
    parser.add_argument("--beings", type=int, default=usual.beings)
    parser.add_argument("--memories", type=int, default=usual.memories, help="of each Being")
    parser.add_argument("--searches", choices=["items", "files", "qdrant"], default=usual.searches)
    parser.add_argument("--mix", default="", help="such as recall=40,update_notes=10")
    parser.add_argument("--model-seconds", type=float, default=usual.model_seconds)
    parser.add_argument("--traced", type=float, default=usual.traced, help="as TracesSample")
    parser.add_argument("--route-metrics", action="store_true", help="as RouteMetrics=on")
    parser.add_argument("--log-days", type=int, default=usual.log_days)
    parser.add_argument("--write", action="store_true", help=f"{PAGE.name} anew, and no more")
    chosen = parser.parse_args()
    if chosen.write:
        PAGE.write_text(written(PAGE.read_text()))
        return
    try:
        mix = dict(pair.split("=") for pair in chosen.mix.split(",")) if chosen.mix else usual.mix
        load = Load(
            calls=chosen.calls,
            mix={kind: float(share) for kind, share in mix.items()},
            beings=chosen.beings,
            memories=chosen.memories,
            searches=chosen.searches,
            model_seconds=chosen.model_seconds,
            traced=chosen.traced,
            route_metrics=chosen.route_metrics,
            log_days=chosen.log_days,
        )
    except ValueError as error:
        parser.error(str(error))
    if unknown := load.mix.keys() - usual.mix.keys():
        parser.error(f"no such calls: {', '.join(sorted(unknown))}")
    print(f"Mix: {', '.join(f'{kind} {100 * load.share(kind):.0f} %' for kind in load.mix)}")
    print(f"{load.memories:,} memories a Being, searched in: {load.searches}\n")
    print(per_million(load), per_kind(load), sep="\n\n")
    month, fixed_costs = calls(load), standing(load)
    print(f"\nA month of {load.calls:,.0f} calls and {load.beings:,} Beings:")
    print(f"  calls {month.dollars:,.2f}, standing {fixed_costs.dollars:,.2f} dollars")
    if load.searches == "qdrant":
        print(f"  and a Qdrant with {qdrant_gigabytes(load):.2f} GB of memory, at its own price")
    print("Without the language model, taxes and free tiers.")


if __name__ == "__main__":
    main()
