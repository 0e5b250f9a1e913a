"""The facts of a deployed stack that no emulator shows, each read from AWS's own services."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any

from nacre.adapters.aws.calls import REFUSALS, AwsCalls
from nacre.adapters.aws.stack import stack_resources
from nacre.core.clock import Clock
from nacre.core.errors import ForbiddenError, NacreError, NotFoundError
from nacre.core.metrics import DIMENSION, NAMESPACE, PATROL_BACKLOG
from nacre.ports.operation.deployment import Fact, SearchedIn

_TABLES = ("TokensTable", "DataTable")
_FUNCTIONS = (
    "McpHttpFunction",
    "TokenAuthorizerFunction",
    "PatrolWorkerFunction",
    "PolicyEvaluatorFunction",
    "PortalFunction",
)
_SNAPPED = ("McpHttpFunction", "PortalFunction")
# These answer an empty event with their status; the others are called over HTTP.
_ALIVE = ("PatrolWorkerFunction",)
_SWEEP_HOURS = 3
_SETTINGS = ("CodeSha256", "Environment", "Layers", "MemorySize", "Timeout")
_FEW = 50  # concurrent executions that leave room for nobody else
_AGAIN = "deploy the template again: sam deploy"


class StackDeployment:
    """Reads the settings of one stack's resources."""

    def __init__(self, client: Callable[[str], Any], stack: str, *, clock: Clock) -> None:
        self._client = client
        self._stack = stack
        self._clock = clock

    def facts(self) -> Sequence[Fact]:
        """Return every fact; what cannot be read is a fact too."""
        checks: Mapping[str, Callable[[], Iterator[Fact]]] = {
            "processor": self._functions,
            "start": self._starts,
            "release": self._release,
            "snapshots": self._snapshots,
            "expiry": self._expiry,
            "recovery": self._recovery,
            "key": self._key,
            "queue": self._mapping,
            "schedule": self._schedule,
            "sweeps": self._sweeps,
            "bucket": self._bucket,
            "alarms": self._receivers,
            "concurrency": self._concurrency,
        }
        return [fact for name, check in checks.items() for fact in _attempt(name, check)]

    def searched_in(self) -> SearchedIn:
        """Return where the functions of the stack search, by its parameters."""
        if self._parameter("QdrantUrl"):
            return "qdrant"
        return "files" if self._parameter("SearchFiles") == "on" else "items"

    def _functions(self) -> Iterator[Fact]:
        chosen = self._parameter("Arch")
        for name in _FUNCTIONS:
            answer = self._ask(
                "lambda", "get_function_configuration", FunctionName=self._named(name)
            )
            processors = answer.get("Architectures", ["x86_64"])
            state = (answer.get("State", "Active"), answer.get("LastUpdateStatus", "Successful"))
            if processors != [chosen]:
                advice = f"build for {chosen} and deploy again: make deploy ARGS='--arch {chosen}'"
                yield Fact("processor", "fail", f"{name} runs on {processors[0]}", advice)
            elif state != ("Active", "Successful"):
                yield Fact("processor", "fail", f"{name} is {state[0]}, {state[1]}", _AGAIN)
            else:
                yield Fact("processor", "ok", f"{name} runs on {chosen}")

    def _starts(self) -> Iterator[Fact]:
        for name in _ALIVE:
            answer = self._ask("lambda", "invoke", FunctionName=self._named(name), Payload=b"{}")
            text = answer["Payload"].read().decode(errors="replace")
            if "FunctionError" not in answer and '"status": "ok"' in text:
                yield Fact("start", "ok", f"{name} starts with its layers")
            else:
                advice = "its log group says why; mostly a layer is built for another processor"
                yield Fact("start", "fail", f"{name} does not start", advice)

    def _release(self) -> Iterator[Fact]:
        if not self._parameter("Release"):
            problem = "a deployment changes functions while they are called"
            yield Fact("release", "warn", problem, "deploy with make deploy, which names a Release")
            return
        for name in _FUNCTIONS:
            newest, live = (
                self._ask(
                    "lambda",
                    "get_function_configuration",
                    FunctionName=self._named(name),
                    Qualifier=qualifier,
                )
                for qualifier in ("$LATEST", "live")
            )
            if all(newest.get(setting) == live.get(setting) for setting in _SETTINGS):
                yield Fact("release", "ok", f"{name} is called with its newest settings")
            else:
                problem = f"{name} is still called with the settings of the last Release"
                yield Fact("release", "fail", problem, "deploy with a new Release: make deploy")

    def _snapshots(self) -> Iterator[Fact]:
        if self._parameter("SnapStart") != "on":
            yield Fact("snapshots", "ok", "SnapStart is off")
            return
        for name in _SNAPPED:
            answer = self._ask(
                "lambda",
                "get_function_configuration",
                FunctionName=self._named(name),
                Qualifier="live",
            )
            status = answer.get("SnapStart", {}).get("OptimizationStatus")
            if status == "On":
                yield Fact("snapshots", "ok", f"{name} starts from a snapshot")
            else:
                advice = "deploy with a new Release; SnapStart needs a published version"
                yield Fact("snapshots", "fail", f"{name} has no snapshot ({status})", advice)
            if old := self._old_versions(name):
                problem = f"{name} keeps old versions, and each snapshot costs: {', '.join(old)}"
                advice = (
                    f"delete them: aws lambda delete-function --function-name {self._named(name)}"
                    f" --qualifier {old[0]}"
                )
                yield Fact("snapshots", "warn", problem, advice)

    def _old_versions(self, name: str) -> list[str]:
        """Return the published versions of a function that are not called, the oldest first."""
        function = {"FunctionName": self._named(name)}
        live = self._ask("lambda", "get_alias", **function, Name="live")["FunctionVersion"]
        versions: list[str] = []
        page: dict[str, Any] = {}
        while not versions or page.get("NextMarker"):
            marker = {"Marker": page["NextMarker"]} if page else {}
            page = self._ask("lambda", "list_versions_by_function", **function, **marker)
            versions += [version["Version"] for version in page["Versions"]]
        return [version for version in versions if version not in ("$LATEST", live)]

    def _expiry(self) -> Iterator[Fact]:
        for name in _TABLES:
            answer = self._ask(
                "dynamodb", "describe_time_to_live", TableName=self._named(name)
            ).get("TimeToLiveDescription", {})
            state = (answer.get("TimeToLiveStatus"), answer.get("AttributeName"))
            if state[0] in ("ENABLED", "ENABLING") and state[1] == "expires_at":
                yield Fact("expiry", "ok", f"{name} deletes what has expired")
            else:
                advice = "aws dynamodb update-time-to-live for expires_at; expired items only cost"
                yield Fact("expiry", "warn", f"{name} keeps what has expired", advice)

    def _recovery(self) -> Iterator[Fact]:
        for name in _TABLES:
            answer = self._ask(
                "dynamodb", "describe_continuous_backups", TableName=self._named(name)
            )["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
            table = self._ask("dynamodb", "describe_table", TableName=self._named(name))["Table"]
            is_sealed = table.get("SSEDescription", {}).get("SSEType") == "KMS"
            if answer.get("PointInTimeRecoveryStatus") != "ENABLED":
                problem = f"{name} cannot be restored to a point in time"
                yield Fact("recovery", "fail", problem, _AGAIN)
            elif not is_sealed:
                yield Fact("recovery", "fail", f"{name} is not sealed with the key", _AGAIN)
            else:
                yield Fact("recovery", "ok", f"{name} is sealed and can be restored to any second")

    def _key(self) -> Iterator[Fact]:
        key = self._named("NacreKey")
        state = self._ask("kms", "describe_key", KeyId=key)["KeyMetadata"]["KeyState"]
        if state != "Enabled":
            yield Fact(
                "key", "fail", f"the stack's key is {state}", "enable it: aws kms enable-key"
            )
        elif not self._ask("kms", "get_key_rotation_status", KeyId=key)["KeyRotationEnabled"]:
            yield Fact("key", "warn", "the stack's key is not renewed each year", _AGAIN)
        else:
            yield Fact("key", "ok", "the stack's key is enabled and renewed each year")

    def _mapping(self) -> Iterator[Fact]:
        answer = self._ask("lambda", "get_event_source_mapping", UUID=self._named("PatrolMapping"))
        if answer.get("State") in ("Enabled", "Enabling", "Creating", "Updating"):
            most = answer.get("ScalingConfig", {}).get("MaximumConcurrency", "an unset number of")
            yield Fact("queue", "ok", f"the worker takes messages, for {most} Beings at one time")
        else:
            advice = f"aws lambda update-event-source-mapping --enabled --uuid {answer.get('UUID')}"
            yield Fact("queue", "fail", "the worker takes no messages", advice)

    def _schedule(self) -> Iterator[Fact]:
        name = self._named("PatrolSchedule").rpartition("|")[2].rpartition("/")[2]
        answer = self._ask("scheduler", "get_schedule", Name=name)
        if answer.get("State", "ENABLED") != "ENABLED":
            advice = "enable it: aws scheduler update-schedule --state ENABLED"
            yield Fact("schedule", "fail", "the schedule of sweeps is disabled", advice)
            return
        dead = self._ask(
            "sqs",
            "get_queue_attributes",
            QueueUrl=self._named("ScheduleDeadLetterQueue"),
            AttributeNames=["ApproximateNumberOfMessages"],
        )["Attributes"]["ApproximateNumberOfMessages"]
        if int(dead):
            advice = "see ScheduleDeadLetterAlarm in docs/guides/runbook.md"
            problem = f"{dead} sweeps could not be sent to the queue"
            yield Fact("schedule", "fail", problem, advice)
        else:
            yield Fact("schedule", "ok", "the schedule is enabled, and no sweep was lost")

    def _sweeps(self) -> Iterator[Fact]:
        now = self._clock()
        answer = self._ask(
            "cloudwatch",
            "get_metric_statistics",
            Namespace=NAMESPACE,
            MetricName=PATROL_BACKLOG,
            Dimensions=[{"Name": DIMENSION, "Value": self._stack}],
            StartTime=now - timedelta(hours=_SWEEP_HOURS),
            EndTime=now,
            Period=3600,
            Statistics=["Sum"],
        )["Datapoints"]
        if answer:
            yield Fact("sweeps", "ok", "the encrypted schedule reaches the encrypted FIFO queue")
        else:
            advice = "a stack's first sweep comes within 75 minutes; then see PatrolSilenceAlarm"
            problem = f"no sweep has come in {_SWEEP_HOURS} hours"
            yield Fact("sweeps", "warn", problem, advice)

    def _bucket(self) -> Iterator[Fact]:
        bucket = self._named("BlobsBucket")
        rules = self._ask("s3", "get_bucket_lifecycle_configuration", Bucket=bucket).get(
            "Rules", []
        )
        access = self._ask("s3", "get_public_access_block", Bucket=bucket)
        blocked = access["PublicAccessBlockConfiguration"]
        if not all(blocked.values()):
            yield Fact("bucket", "fail", "the bucket does not block public access", _AGAIN)
        elif not any(rule.get("Status") == "Enabled" for rule in rules):
            yield Fact("bucket", "warn", "the bucket keeps objects for ever", _AGAIN)
        else:
            yield Fact("bucket", "ok", "the bucket is private and empties itself")

    def _receivers(self) -> Iterator[Fact]:
        topic = self._names.get("AlarmTopic")
        other = self._parameter("AlarmTopicArn")
        if topic is None and not other:
            advice = "deploy with AlarmEmail=… or AlarmTopicArn=…"
            yield Fact("alarms", "warn", "alarms are sent to nobody", advice)
        if topic is not None:
            answer = self._ask("sns", "list_subscriptions_by_topic", TopicArn=topic)
            waits = [
                subscription
                for subscription in answer["Subscriptions"]
                if subscription["SubscriptionArn"] == "PendingConfirmation"
            ]
            if waits or not answer["Subscriptions"]:
                advice = "open the link in the message that AWS sent to AlarmEmail"
                yield Fact("alarms", "fail", "AlarmEmail is not confirmed", advice)
            else:
                yield Fact("alarms", "ok", "alarms are sent to AlarmEmail")
        if other:
            advice = "try it: aws cloudwatch set-alarm-state (docs/guides/operate-aws.md)"
            yield Fact("alarms", "ok", "alarms are sent to AlarmTopicArn", advice)

    def _concurrency(self) -> Iterator[Fact]:
        limit = self._ask("lambda", "get_account_settings")["AccountLimit"]
        most = limit["ConcurrentExecutions"]
        if most < _FEW:
            advice = "ask for more: Service Quotas, Lambda, concurrent executions"
            yield Fact("concurrency", "warn", f"the account runs {most} functions at once", advice)
        else:
            yield Fact("concurrency", "ok", f"the account runs {most} functions at once")

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """The names that AWS gave to resources."""
        resources = stack_resources(self._client("cloudformation"), self._stack)
        return {resource.logical: resource.physical for resource in resources}

    @cached_property
    def _parameters(self) -> Mapping[str, str]:
        [stack] = self._ask("cloudformation", "describe_stacks", StackName=self._stack)["Stacks"]
        return {
            parameter["ParameterKey"]: parameter.get("ParameterValue", "")
            for parameter in stack.get("Parameters", [])
        }

    def _named(self, name: str) -> str:
        try:
            return self._names[name]
        except KeyError:
            raise NotFoundError(f"the stack has no {name}") from None

    def _parameter(self, name: str) -> str:
        return self._parameters.get(name, "")

    def _ask(self, service: str, operation: str, **parameters: Any) -> Any:
        forbidden = ForbiddenError(f"these AWS credentials may not {operation}")
        errors: dict[str, Exception | None] = dict.fromkeys(
            (*REFUSALS, "AccessDenied", "AuthorizationError"), forbidden
        )
        errors["NoSuchLifecycleConfiguration"] = None
        answer = AwsCalls(self._client(service)).ask(operation, errors, **parameters)
        return {} if answer is None else answer


def _attempt(name: str, check: Callable[[], Iterator[Fact]]) -> list[Fact]:
    """Return the facts of a check; what cannot be read is a fact too."""
    facts: list[Fact] = []
    try:
        facts.extend(check())
    except NotFoundError as error:
        facts.append(Fact(name, "fail", str(error), _AGAIN))
    except NacreError as error:
        facts.append(Fact(name, "warn", f"not seen: {error}", "use credentials that may read it"))
    except (KeyError, ValueError, TypeError) as error:  # an answer that AWS would not give
        facts.append(Fact(name, "warn", f"not seen: {type(error).__name__} in the answer"))
    return facts
