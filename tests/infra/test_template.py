import json

import pytest

from nacre.core.limits import MEDIA_LINK_SECONDS
from nacre.ports.media.media_links import MEDIA_FOLDER
from nacre.wiring.settings import VARIABLES
from tests.infra.declared import FUNCTIONS, ROOT, functions, named, resources, statements, template
from tests.infra.declared import layers as layers_of


def test_each_concern_is_one_function_with_a_handler_of_its_own() -> None:
    folders = {name: function["CodeUri"] for name, function in functions().items()}

    assert folders.keys() == FUNCTIONS
    assert sorted(folders.values()) == [
        f"functions/{folder.name}/"
        for folder in sorted((ROOT / "functions").iterdir())
        if (folder / "handler.py").is_file()
    ]
    for name, folder in folders.items():
        lines = (ROOT / folder / "handler.py").read_text().splitlines()
        assert len(lines) <= 20, name
        assert "handle = " in "\n".join(lines), name


def test_every_function_may_be_traced_and_logs_json_into_its_own_encrypted_group() -> None:
    groups = resources("AWS::Logs::LogGroup")

    for name, function in functions().items():
        assert function["Runtime"] == "python3.13"
        assert function["Architectures"] == [{"Ref": "Arch"}]
        assert function["Tracing"] == {"Fn::If": ["HasTraces", "Active", "PassThrough"]}
        assert function["LoggingConfig"]["LogFormat"] == "JSON"
        # Above it Lambda would drop the lines that carry metrics, and the alarms with them.
        assert function["LoggingConfig"]["ApplicationLogLevel"] == "INFO"
        assert function["Environment"]["Variables"]["NACRE_STACK"] == {"Ref": "AWS::StackName"}
        assert named(function["LoggingConfig"]["LogGroup"]) == f"{name}Log"
        assert named(function["KmsKeyArn"]) == "NacreKey"
    assert groups.keys() == {f"{name}Log" for name in FUNCTIONS} | {"HttpApiLog"}
    for group in groups.values():
        assert group["RetentionInDays"] == {"Ref": "LogRetentionDays"}
        assert named(group["KmsKeyId"]) == "NacreKey"


def test_traces_and_metrics_of_routes_are_paid_for_by_those_who_ask() -> None:
    parameters = template()["Parameters"]
    [rule] = resources("AWS::XRay::SamplingRule").values()
    [stage] = resources("AWS::ApiGatewayV2::Stage").values()
    routes = [stage["DefaultRouteSettings"], *stage["RouteSettings"].values()]

    assert (parameters["TracesSample"]["Default"], parameters["RouteMetrics"]["Default"]) == (
        0,
        "off",
    )
    assert template()["Resources"]["TracesRule"]["Condition"] == "HasTraces"
    assert rule["SamplingRule"]["FixedRate"] == {"Ref": "TracesSample"}
    assert rule["SamplingRule"]["ReservoirSize"] == 0  # one a second would be all of most stacks
    assert all(
        route["DetailedMetricsEnabled"] == {"Fn::If": ["HasRouteMetrics", True, False]}
        for route in routes
    )


def test_the_functions_that_answer_without_work_carry_no_heavy_layer() -> None:
    layers = {name: layers_of(function) for name, function in functions().items()}

    assert layers == {
        "McpHttpFunction": ["HotLayer", "LibsLayer"],
        "TokenAuthorizerFunction": ["HotLayer"],
        "PatrolWorkerFunction": ["HotLayer", "LibsLayer", "BatchLayer"],
        "PolicyEvaluatorFunction": ["HotLayer"],
        "PortalFunction": ["HotLayer", "LibsLayer", "WebLayer"],
    }


def test_no_function_outlives_the_gateway_that_waits_for_it() -> None:
    timeouts = {name: function["Timeout"] for name, function in functions().items()}

    assert timeouts.pop("PatrolWorkerFunction") == 900
    assert all(seconds < 30 for seconds in timeouts.values())


def test_the_environment_that_the_template_sets_is_what_settings_read() -> None:
    known = {variable.name for variable in VARIABLES.values()}
    given = {
        name for function in functions().values() for name in function["Environment"]["Variables"]
    }
    only_elsewhere = {
        "NACRE_HOME",  # the laptop
        "NACRE_ALLOWED_ORIGINS",  # API Gateway answers for origins
        "NACRE_CA_FILE",  # a file of the laptop
        "NACRE_POLICY",  # documents in the table, pushed by the command
        "NACRE_TRUSTED_PROXIES",  # API Gateway says who calls
        *("NACRE_HTTP_CONNECTIONS", "NACRE_ADDRESS_CONNECTIONS"),  # and bounds them
        "NACRE_SERVERS",  # `nacre server add --stack` keeps them in the table
        "NACRE_RESOLVE_TOKENS",  # for fronts without the authorizer
        # NACRE_QDRANT_SECRET and its like say where these are kept
        *("NACRE_QDRANT_API_KEY", "NACRE_EMBEDDING_API_KEY", "NACRE_LLM_API_KEY"),
        "NACRE_TRANSCRIBE_API_KEY",
    }

    assert given <= known
    assert {name for name in known - given if name.startswith("NACRE_")} == only_elsewhere


def test_tables_are_recoverable_encrypted_expiring_and_kept() -> None:
    tables = resources("AWS::DynamoDB::Table")

    assert tables.keys() == {"TokensTable", "DataTable"}
    for name, table in tables.items():
        resource = template()["Resources"][name]
        assert (resource["DeletionPolicy"], resource["UpdateReplacePolicy"]) == ("Retain", "Retain")
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
        assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
        assert table["SSESpecification"]["SSEType"] == "KMS"
        assert named(table["SSESpecification"]["KMSMasterKeyId"]) == "NacreKey"
        assert table["DeletionProtectionEnabled"] == {"Fn::If": ["IsProtected", True, False]}
        assert [key["AttributeName"] for key in table["KeySchema"]] == ["pk", "sk"]
        assert {
            index["IndexName"]: (
                [key["AttributeName"] for key in index["KeySchema"]],
                index["Projection"]["ProjectionType"],
            )
            for index in table["GlobalSecondaryIndexes"]
        } == {f"gsi{n}": ([f"gsi{n}pk", f"gsi{n}sk"], "ALL") for n in (1, 2, 3)}


def test_the_bucket_is_private_encrypted_short_lived_and_speaks_tls_only() -> None:
    bucket = resources("AWS::S3::Bucket")["BlobsBucket"]
    policy = resources("AWS::S3::BucketPolicy")["BlobsBucketPolicy"]
    media, rule = bucket["LifecycleConfiguration"]["Rules"]
    [encryption] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    statement, old_links = policy["PolicyDocument"]["Statement"]

    assert (media["Status"], media["Prefix"]) == ("Enabled", f"{MEDIA_FOLDER}/")
    assert media["ExpirationInDays"] == 1
    assert old_links["Effect"] == "Deny"
    assert old_links["Condition"] == {
        "NumericGreaterThan": {"s3:signatureAge": str(MEDIA_LINK_SECONDS * 1000)}
    }
    assert (rule["Status"], rule["ExpirationInDays"]) == ("Enabled", 7)
    assert encryption["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == (
        "Deny",
        "*",
        "s3:*",
    )
    assert [named(resource) for resource in statement["Resource"]] == [
        "BlobsBucket",
        "BlobsBucket/*",
    ]
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_key_rotates_and_outlives_the_stack() -> None:
    key = template()["Resources"]["NacreKey"]

    assert key["Properties"]["EnableKeyRotation"] is True
    assert key["DeletionPolicy"] == "Retain"


def test_work_that_fails_three_times_waits_in_the_dead_letter_queue() -> None:
    queues = resources("AWS::SQS::Queue")
    queue, dead = queues["PatrolQueue"], queues["PatrolDeadLetterQueue"]
    mapping = resources("AWS::Lambda::EventSourceMapping")["PatrolMapping"]

    assert queue["RedrivePolicy"]["maxReceiveCount"] == 3
    assert named(queue["RedrivePolicy"]["deadLetterTargetArn"]) == "PatrolDeadLetterQueue"
    for each in (queue, dead):
        assert each["FifoQueue"] is True
        assert each["QueueName"]["Fn::Sub"].endswith(".fifo")
        assert each["MessageRetentionPeriod"] == 14 * 24 * 3600
        assert named(each["KmsMasterKeyId"]) == "NacreKey"
    assert queue["VisibilityTimeout"] >= 6 * functions()["PatrolWorkerFunction"]["Timeout"]
    assert mapping["BatchSize"] == 1
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["ScalingConfig"] == {"MaximumConcurrency": {"Ref": "PatrolConcurrency"}}
    assert named(mapping["EventSourceArn"]) == "PatrolQueue"
    assert named(mapping["FunctionName"]) == "PatrolWorkerFunction"


def test_a_sweep_is_sent_every_hour() -> None:
    schedule = resources("AWS::Scheduler::Schedule")["PatrolSchedule"]

    assert schedule["ScheduleExpression"] == "rate(1 hour)"
    assert schedule["FlexibleTimeWindow"] == {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": 15}
    assert named(schedule["Target"]["Arn"]) == "PatrolQueue"
    assert schedule["Target"]["SqsParameters"] == {"MessageGroupId": "sweep"}
    # The scheduler cannot name a deduplication id, so the queue has to make one.
    assert resources("AWS::SQS::Queue")["PatrolQueue"]["ContentBasedDeduplication"] is True
    assert json.loads(schedule["Target"]["Input"])["kind"] == "sweep"


def test_alarms_watch_every_function_the_queues_and_the_endpoint() -> None:
    alarms = resources("AWS::CloudWatch::Alarm")
    short = {name.removesuffix("Function") for name in FUNCTIONS}

    assert alarms.keys() == (
        {f"{name}{what}Alarm" for name in short for what in ("Error", "Throttle", "Duration")}
        | {"ScheduleDeadLetterAlarm", "PatrolSilenceAlarm"}
        | {"DeadLetterAlarm", "QueueAgeAlarm", "ApiServerErrorAlarm", "AuthorizerLatencyAlarm"}
        | {"McpFaultAlarm", "McpRefusalAlarm", "PatrolLagAlarm", "IndexDriftAlarm"}
        | {"SpendCapAlarm", "DataThrottleAlarm", "TokensThrottleAlarm"}
    )
    for name, function in functions().items():
        alarm = alarms[f"{name.removesuffix('Function')}DurationAlarm"]
        assert alarm["ExtendedStatistic"] == "p99"
        assert alarm["Threshold"] == function["Timeout"] * 800, name  # 80 %, in milliseconds
        assert [named(each["Value"]) for each in alarm["Dimensions"]] == [name]
    for alarm in alarms.values():
        receivers = [
            {"Fn::If": [condition, {"Ref": topic}, {"Ref": "AWS::NoValue"}]}
            for condition, topic in (
                ("HasAlarmEmail", "AlarmTopic"),
                ("HasAlarmTopicArn", "AlarmTopicArn"),
            )
        ]
        assert alarm["AlarmActions"] == {
            "Fn::If": ["HasReceiver", receivers, {"Ref": "AWS::NoValue"}]
        }
    silent = {name for name in alarms if alarms[name]["TreatMissingData"] == "breaching"}
    assert silent == {"PatrolSilenceAlarm"}  # what it watches comes every hour


def test_silence_is_judged_by_hours_in_which_nothing_ended_though_work_waits() -> None:
    alarm = resources("AWS::CloudWatch::Alarm")["PatrolSilenceAlarm"]
    [result, patrols, backlog] = alarm["Metrics"]

    assert result["Expression"] == "IF(FILL(patrols, 0) == 0 AND FILL(backlog, 1) > 0, 1, 0)"
    assert {each["MetricStat"]["Period"] for each in (patrols, backlog)} == {3 * 3600}


@pytest.mark.parametrize("table", ["DataTable", "TokensTable"])
def test_throttles_of_a_table_and_of_each_index_ring(table: str) -> None:
    alarm = resources("AWS::CloudWatch::Alarm")[table.replace("Table", "ThrottleAlarm")]
    metrics = {
        each["Id"]: each["MetricStat"]["Metric"]
        for each in alarm["Metrics"]
        if "MetricStat" in each
    }
    watched = {
        (metric["MetricName"], *(dimension["Value"] for dimension in metric["Dimensions"][1:]))
        for metric in metrics.values()
    }
    indexes = [
        each["IndexName"]
        for each in resources("AWS::DynamoDB::Table")[table]["GlobalSecondaryIndexes"]
    ]

    assert watched == {
        (f"{kind}ThrottleEvents", *index)
        for kind in ("Read", "Write")
        for index in ((), *((name,) for name in indexes))
    }
    [expression] = [each["Expression"] for each in alarm["Metrics"] if "Expression" in each]
    assert expression == " + ".join(f"FILL({name}, 0)" for name in metrics)


def test_a_sweep_that_the_scheduler_cannot_send_is_kept() -> None:
    schedule = resources("AWS::Scheduler::Schedule")["PatrolSchedule"]
    queue = resources("AWS::SQS::Queue")["ScheduleDeadLetterQueue"]
    sent = [
        named(resource)
        for statement in statements(resources("AWS::IAM::Role")["PatrolScheduleRole"])
        if statement["Action"] == ["sqs:SendMessage"]
        for resource in statement["Resource"]
    ]

    assert named(schedule["Target"]["DeadLetterConfig"]["Arn"]) == "ScheduleDeadLetterQueue"
    assert "FifoQueue" not in queue  # the scheduler takes no other
    assert sent == ["PatrolQueue", "ScheduleDeadLetterQueue"]


def test_an_api_with_a_domain_answers_under_no_other_name() -> None:
    [api] = resources("AWS::ApiGatewayV2::Api").values()

    assert api["DisableExecuteApiEndpoint"] == {"Fn::If": ["HasApiDomain", True, False]}


def test_what_costs_something_has_the_tag_that_the_budget_counts() -> None:
    tag = {"Key": "nacre-stack", "Value": {"Ref": "AWS::StackName"}}
    plain = {"nacre-stack": {"Ref": "AWS::StackName"}}
    [budget] = resources("AWS::Budgets::Budget").values()
    [api] = resources("AWS::ApiGatewayV2::Api").values()

    for kind in (
        "DynamoDB::Table",
        "S3::Bucket",
        "SQS::Queue",
        "SNS::Topic",
        "KMS::Key",
        "Logs::LogGroup",
    ):
        for name, resource in resources(f"AWS::{kind}").items():
            assert resource["Tags"] == [tag], name
    assert {json.dumps(each["Tags"]) for each in functions().values()} == {json.dumps(plain)}
    assert api["Tags"] == plain
    assert budget["Budget"]["CostFilters"]["TagKeyValue"] == [
        {"Fn::Sub": "user:nacre-stack$${AWS::StackName}"}
    ]


def test_every_parameter_has_a_default_and_does_something() -> None:
    text = json.dumps({key: value for key, value in template().items() if key != "Parameters"})

    for name, parameter in template()["Parameters"].items():
        assert "Default" in parameter, name
        assert f'"Ref": "{name}"' in text or f"${{{name}}}" in text, name


def test_the_outputs_tell_people_and_the_command_line_what_they_need() -> None:
    outputs = template()["Outputs"]

    assert {"McpUrl", "FirstToken", "TokensTableName", "DataTableName"} <= outputs.keys()
    assert {"QueueUrl", "DeadLetterQueueUrl", "BucketName", "KeyArn"} <= outputs.keys()
    assert (
        "nacre token create --stack ${AWS::StackName}" in outputs["FirstToken"]["Value"]["Fn::Sub"]
    )
