"""AWS: DynamoDB, KMS and Systems Manager, each loaded when it is first used."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from nacre.access.tokens.token_check import Lookup, token_key
from nacre.core.errors import ConfigurationError

if TYPE_CHECKING:
    from nacre.access.authority import Authority
    from nacre.access.tokens.authentication import Gate
    from nacre.adapters.aws.log_levels import StoredLogLevels
    from nacre.adapters.aws.sqs_queue import SqsQueue
    from nacre.being.application import Application
    from nacre.being.memory.index.jobs import IndexWork
    from nacre.being.patrol.executor import PatrolWork
    from nacre.jobs.worker import Worker
    from nacre.ports.blobs import Blobs
    from nacre.ports.dead_letters import DeadLetters
    from nacre.ports.health import Health
    from nacre.ports.items.table import Table
    from nacre.ports.queue import Message
    from nacre.ports.residue import Residue
    from nacre.ports.vault import Vault
    from nacre.protocol.application_rules import Explainer
    from nacre.protocol.dispatch.request_state import SigningKeys
    from nacre.protocol.http.legacy_clients import Peers
    from nacre.protocol.surface import Surface
    from nacre.wiring.features.memory import Minded
    from nacre.wiring.features.tasks import Tasking
    from nacre.wiring.home import Home
    from nacre.wiring.settings import Settings

_OUTPUTS = (
    "TokensTableName",
    "DataTableName",
    "KeyArn",
    "McpUrl",
    "QueueUrl",
    "DeadLetterQueueUrl",
    "BucketName",
)


def token_lookup(settings: "Settings") -> Lookup:
    """Return how the authorizer finds a token: one signed request, without boto3."""
    from nacre.adapters.aws.dynamodb.get import SignedGet
    from nacre.wiring.signed_requests import signed

    settings.require("tokens_table", "region", *settings.signing_fields)
    tokens = signed(SignedGet, settings.tokens_table, settings)
    return lambda sha256: tokens.get(token_key(sha256))


def mcp_application(settings: "Settings") -> "Application":
    """Return what the MCP function serves."""
    from nacre.being.application import Application
    from nacre.core.clock import system_clock
    from nacre.core.limits import LAMBDA_CALL_BYTES
    from nacre.protocol.dispatch.request_state import RequestStates
    from nacre.wiring.features.memory import Once, stack_mind

    settings.require("data_table", "queue_url", "key_arn")

    @cache
    def table() -> "Table":
        from nacre.adapters.aws.dynamodb.table import DynamoTable

        return DynamoTable(_Clients(settings)("dynamodb"), settings.data_table)

    def use(state_id: str) -> bool:
        from nacre.protocol.dispatch.used_states import UsedStates

        return UsedStates(table, system_clock).use(state_id)

    states = RequestStates(request_state_keys(settings), system_clock, use=use)
    minded = stack_mind(lambda: _Clients(settings), settings, system_clock)

    def tasking() -> "Tasking":
        from nacre.wiring.features.tasks import stack_tasking

        return stack_tasking(_Clients(settings), settings, system_clock)

    made = Once(tasking)
    return Application(
        _served(settings, minded),
        states,
        call_bytes=LAMBDA_CALL_BYTES,
        tasks=lambda: made().desk,
    )


def _served(
    settings: "Settings", minded: "Callable[[], Minded]", *, in_worker: bool = False
) -> "Surface":
    """Return what callers reach, and the worker of their tasks after them."""
    from nacre.being.application import being_server
    from nacre.core.clock import system_clock
    from nacre.wiring.features.firewall import stack_entry, to_stderr
    from nacre.wiring.features.gateway import stack_gateway
    from nacre.wiring.features.orders import stack_order_names, stack_ordering

    ordering = stack_ordering(
        lambda: _Clients(settings), minded, settings, system_clock, in_worker=in_worker
    )

    @cache
    def table() -> "Table":
        from nacre.adapters.aws.dynamodb.table import DynamoTable

        return DynamoTable(_Clients(settings)("dynamodb"), settings.data_table)

    gateway = stack_gateway(settings, table, lambda: _Clients(settings), system_clock, to_stderr)
    server = being_server(
        lambda: minded().mind,
        patrols=lambda: minded().patrolling().calls,
        capabilities=gateway.capabilities,
    )
    served = gateway.beside(ordering.beside(server, stack_order_names(settings)))
    surface = stack_entry(served, settings, table, system_clock, gateway=gateway)
    gateway.serve(surface)
    return ordering.serve(surface)


def mcp_peers(settings: "Settings") -> "Peers":
    """Return what an MCP function knows of clients of older revisions."""
    from nacre.protocol.http.legacy_clients import Acquaintances

    @cache
    def levels() -> "StoredLogLevels":
        from nacre.adapters.aws.dynamodb.append import SignedAppend
        from nacre.adapters.aws.dynamodb.get import SignedGet
        from nacre.adapters.aws.log_levels import StoredLogLevels
        from nacre.core.clock import system_clock
        from nacre.wiring.signed_requests import signed

        table = signed(SignedAppend, settings.data_table, settings)
        return StoredLogLevels(
            signed(SignedGet, settings.data_table, settings), table, system_clock
        )

    return Acquaintances(levels)


def mcp_gate(settings: "Settings") -> "Gate | None":
    """Return the gate of an MCP function that looks tokens up itself, where that is on."""
    from nacre.access.tokens.authentication import Gate

    return Gate(token_lookup(settings)) if settings.resolves_tokens else None


def authority(settings: "Settings") -> "Callable[[], Authority]":
    """Return who the portal function lets in, with the tables opened at the first need."""

    @cache
    def opened() -> "Authority":
        from random import SystemRandom

        from nacre.adapters.aws.dynamodb.table import DynamoTable
        from nacre.core.clock import system_clock
        from nacre.wiring.features.access import cached_authority

        settings.require("tokens_table", "data_table")
        dynamodb = _Clients(settings)("dynamodb")
        tokens = DynamoTable(dynamodb, settings.tokens_table)
        data = DynamoTable(dynamodb, settings.data_table)
        return cached_authority(
            tokens, data, fetches=True, clock=system_clock, rng=SystemRandom()
        )()

    return opened


def request_state_keys(settings: "Settings") -> "Callable[[], SigningKeys]":
    """Return the keys that seal requestState, read on first use."""

    @cache
    def stored() -> "Callable[[], SigningKeys]":
        from random import SystemRandom

        from nacre.access.state_keys import StoredSigningKeys
        from nacre.adapters.aws.dynamodb.table import DynamoTable
        from nacre.adapters.aws.kms_vault import KmsVault
        from nacre.core.clock import system_clock

        client = _Clients(settings)
        table = DynamoTable(client("dynamodb"), settings.data_table)
        vault = KmsVault(client("kms"), settings.key_arn)
        return StoredSigningKeys(table, vault, clock=system_clock, rng=SystemRandom())

    return lambda: stored()()


def worker(settings: "Settings", rules: "Explainer") -> "Callable[[], Worker]":
    """Return the worker of the patrol function, which is built at the first message.

    `rules` say what becomes of an error in a task.
    """
    settings.require("data_table", "queue_url")

    @cache
    def built() -> "Worker":
        from nacre.adapters.aws.dynamodb.table import DynamoTable
        from nacre.core.clock import system_clock
        from nacre.jobs.lease import Leases
        from nacre.jobs.worker import Worker
        from nacre.wiring.features.memory import register_memory_jobs, stack_mind
        from nacre.wiring.features.tasks import stack_tasking

        clients = _Clients(settings)
        table = DynamoTable(clients("dynamodb"), settings.data_table)
        worker = Worker(Leases(table, now=system_clock, wake=_waking(settings)))
        minded = stack_mind(lambda: clients, settings, system_clock)
        register_memory_jobs(worker, minded(), stack=settings.stack)
        tasking = stack_tasking(clients, settings, system_clock)
        tasking.register(worker, cache(lambda: _served(settings, minded, in_worker=True)), rules)
        return worker

    return built


def postponing(settings: "Settings") -> "Callable[[Message, float], None]":
    """Return the function that lets a message of the queue come back after so many seconds."""
    queue = _work_queue(settings)
    return lambda message, seconds: queue().postpone(message, seconds)


def _waking(settings: "Settings") -> "Callable[[str], None]":
    """Return the function that brings back a message that waits for a lease, by its receipt."""
    queue = _work_queue(settings)
    return lambda receipt: queue().wake(receipt)


def _work_queue(settings: "Settings") -> "Callable[[], SqsQueue]":
    @cache
    def queue() -> "SqsQueue":
        from nacre.adapters.aws.sqs_queue import SqsQueue

        return SqsQueue(_Clients(settings)("sqs"), settings.queue_url, dead_letter_url="")

    return queue


def open_stack(stack: str, settings: "Settings") -> "Home":
    """Return a deployed stack as the commands see it; `sam deploy` gave it its outputs."""
    from random import SystemRandom

    from nacre.access.beings import Beings
    from nacre.access.owners import Owners
    from nacre.access.tokens.store import TokenStore
    from nacre.core.clock import system_clock
    from nacre.wiring.features.access import cached_authority
    from nacre.wiring.home import Home

    client = _Clients(settings)
    outputs = _outputs(stack, client)

    from nacre.adapters.aws.dynamodb.table import DynamoTable
    from nacre.adapters.aws.ssm_secrets import SsmSecrets

    dynamodb = client("dynamodb")
    tokens = DynamoTable(dynamodb, outputs["TokensTableName"])
    data = DynamoTable(dynamodb, outputs["DataTableName"])
    rng = SystemRandom()

    def queue() -> "SqsQueue":
        from nacre.adapters.aws.sqs_queue import SqsQueue

        return SqsQueue(client("sqs"), outputs["QueueUrl"], dead_letter_url="")

    def index() -> "IndexWork":
        from nacre.being.memory.index.jobs import WorkThere

        return WorkThere(data, queue(), clock=system_clock, rng=rng)

    def patrols() -> "PatrolWork":
        from nacre.being.memory.patrol_trigger import PatrolTrigger
        from nacre.being.memory.store.history import History
        from nacre.being.patrol.executor import WorkThere
        from nacre.being.patrol.trigger import PatrolCalls
        from nacre.jobs.lease import Leases
        from nacre.wiring.features.models import thinking_for

        calls = PatrolCalls(
            data,
            History(data, clock=system_clock),
            PatrolTrigger(data, queue(), clock=system_clock),
            Leases(data, now=system_clock),
            thinking_for(settings, data, vault, clock=system_clock),
        )
        return WorkThere(data, calls, system_clock, rng)

    def blobs() -> "Blobs":
        from nacre.adapters.aws.s3_blobs import S3Blobs

        return S3Blobs(client("s3"), outputs["BucketName"], kms_key_id=outputs["KeyArn"])

    def residue() -> "Residue":
        from nacre.adapters.aws.dynamodb.residue import DynamoResidue

        return DynamoResidue(dynamodb, [outputs["DataTableName"], outputs["TokensTableName"]])

    def dead_letters() -> "DeadLetters":
        from nacre.adapters.aws.sqs_dead_letters import SqsDeadLetters

        return SqsDeadLetters(
            client("sqs"), outputs["QueueUrl"], dead_letter_url=outputs["DeadLetterQueueUrl"]
        )

    def vault() -> "Vault":
        from nacre.adapters.aws.kms_vault import KmsVault

        return KmsVault(client("kms"), outputs["KeyArn"])

    def health() -> "Health":
        from nacre.adapters.aws.health import CloudWatchHealth

        return CloudWatchHealth(
            client("cloudwatch"), client("cloudformation"), stack, clock=system_clock
        )

    return Home(
        where=f"stack {stack}",
        owners=Owners(tokens, clock=system_clock),
        beings=Beings(data, clock=system_clock, rng=rng),
        tokens=TokenStore(tokens, clock=system_clock, rng=rng),
        secrets=SsmSecrets(client("ssm"), prefix=f"/nacre/{stack}", key_arn=outputs["KeyArn"]),
        index=index,
        patrols=patrols,
        data=data,
        blobs=blobs,
        residue=residue,
        dead_letters=dead_letters,
        vault=vault,
        authority=cached_authority(tokens, data, clock=system_clock, rng=rng),
        wake=lambda receipt: queue().wake(receipt),
        health=health,
        mcp_url=outputs["McpUrl"],
    )


def stack_parts(stack: str, settings: "Settings") -> "tuple[Callable[[str], Any], dict[str, str]]":
    """Return what makes clients of AWS's services, and the outputs of a deployed stack."""
    client = _Clients(settings)
    return client, _outputs(stack, client)


def _outputs(stack: str, client: "_Clients") -> dict[str, str]:
    from nacre.adapters.aws.stack import stack_outputs

    outputs = stack_outputs(client("cloudformation"), stack)
    missing = [name for name in _OUTPUTS if not outputs.get(name)]
    if missing:
        raise ConfigurationError(
            f"the stack {stack!r} has no output {', '.join(missing)}; is it a stack of Nacre, "
            "and deployed to the end?"
        )
    return outputs


class _Clients:
    """Clients of one session, which leave repeating to our adapters."""

    def __init__(self, settings: "Settings") -> None:
        try:
            import boto3
        except ImportError:
            raise ConfigurationError(
                "the parts for AWS are not installed; "
                "in the clone: make setup, or pip install '.[aws]'"
            ) from None
        self._endpoint_url = settings.endpoint_url or None
        with _translated():
            self._session = boto3.Session(
                region_name=settings.region or None, botocore_session=_session_core()
            )
            known = self._session.get_credentials()
        if known is None:
            raise ConfigurationError(
                "there are no AWS credentials; run 'aws configure', or set AWS_PROFILE"
            )

    def __call__(self, service: str) -> Any:
        from botocore.config import Config

        from nacre.adapters.aws.incomplete_answers import refuse_broken_answers

        with _translated():
            client = self._session.client(
                service,  # type: ignore[call-overload]  # its name is a literal at every call
                endpoint_url=self._endpoint_url,
                config=Config(
                    retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=20
                ),
            )
        refuse_broken_answers(client)
        return client


def _session_core() -> Any:
    from botocore.session import Session

    core = Session()
    core.register_component("data_loader", service_descriptions())
    return core


@cache
def service_descriptions() -> Any:
    """Return what reads the services' descriptions: a megabyte that each session would parse."""
    from botocore.loaders import create_loader

    return create_loader()


@contextmanager
def _translated() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError

    try:
        yield
    except BotoCoreError as error:
        raise ConfigurationError(f"AWS: {error}; check AWS_PROFILE and AWS_REGION") from error
