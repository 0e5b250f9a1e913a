"""AWS: the ports over DynamoDB, SQS, S3, KMS and Systems Manager, each loaded at its first use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from nacre.core.clock import Clock, system_clock
from nacre.core.errors import ConfigurationError
from nacre.core.limits import LAMBDA_CALL_BYTES, STACK_UPSTREAM_SECONDS
from nacre.wiring import signed_requests
from nacre.wiring.compose import Home, compose
from nacre.wiring.ports import lazy

if TYPE_CHECKING:
    from random import Random

    from nacre.access.tokens.authentication import Gate
    from nacre.adapters.aws.deployment import StackDeployment
    from nacre.adapters.aws.dynamodb.append import SignedAppend
    from nacre.adapters.aws.dynamodb.get import SignedGet
    from nacre.adapters.aws.dynamodb.residue import DynamoResidue
    from nacre.adapters.aws.dynamodb.table import DynamoTable
    from nacre.adapters.aws.health import CloudWatchHealth
    from nacre.adapters.aws.kms_vault import KmsVault
    from nacre.adapters.aws.log_levels import StoredLogLevels
    from nacre.adapters.aws.s3_blobs import S3Blobs
    from nacre.adapters.aws.s3_media_links import S3MediaLinks
    from nacre.adapters.aws.sqs_queue import SqsDeadLetters, SqsQueue
    from nacre.adapters.aws.ssm_secrets import SsmSecrets
    from nacre.adapters.vectors.file_copies import FileCopies
    from nacre.being.orders.order.request import OrderLimits
    from nacre.firewall.suggested_commands import Commands
    from nacre.jobs.notifying_queue import JobSignal
    from nacre.ports.audit import AuditRecords
    from nacre.ports.items.table import Item
    from nacre.ports.queue import Message
    from nacre.ports.vectors.vector_index import VectorIndex
    from nacre.protocol.http.legacy_clients import Peers
    from nacre.wiring.features.firewall import BeingTrails
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


class StackPorts:
    """The ports over a stack's services, which the settings name.

    `role` is what this process is: a function that API Gateway waits for, the worker, or a
    command on the owner's machine, or a server in a container. The last two have read the stack's
    `outputs`, and have credentials that only boto3 reads.
    """

    is_stack = True
    call_bytes = LAMBDA_CALL_BYTES
    holders = None
    screening = None
    confine = None
    memory_changes = None

    def __init__(
        self,
        settings: "Settings",
        role: Literal["gateway", "worker", "command", "server"] = "gateway",
        outputs: "dict[str, str] | None" = None,
        *,
        clients: "Callable[[str], Any] | None" = None,
        clock: Clock = system_clock,
    ) -> None:
        self.clock = clock
        self._settings = settings
        self._role = role
        self._outputs = outputs or {}
        self._clients = clients
        self.asks_worker = role in ("command", "server")
        # Nobody waits for a worker.
        self.upstream_seconds = None if role == "worker" else STACK_UPSTREAM_SECONDS
        # The portal serves clients that publish their metadata on the internet.
        self.fetches_documents = role == "gateway"
        # The functions behind the gateway have no right to change messages of the queue.
        self.wake: Callable[[str], None] | None = None if role == "gateway" else self._wake
        self.where = f"stack {settings.stack}"
        self.mcp_url = self._outputs.get("McpUrl")

    @lazy
    def rng(self) -> "Random":
        """The source of randomness."""
        from random import SystemRandom

        return SystemRandom()

    @lazy
    def client(self) -> "Callable[[str], Any]":
        """Opens a client of an AWS service."""
        return self._clients or Clients(self._settings)

    @lazy
    def data(self) -> "DynamoTable":
        """Everything but tokens and owners."""
        return self._table("data_table")

    @property
    def non_durable_data(self) -> "DynamoTable":
        """The same table; DynamoDB has no cheaper writes."""
        return self.data

    @property
    def unrecorded_data(self) -> "DynamoTable":
        """The same table: a stack records no changes of memories."""
        return self.data

    @lazy
    def token_items(self) -> "DynamoTable":
        """Tokens, owners and what belongs to them."""
        return self._table("tokens_table")

    def _table(self, field: str) -> "DynamoTable":
        from nacre.adapters.aws.dynamodb.table import DynamoTable

        self._settings.require(field)
        return DynamoTable(self.client("dynamodb"), getattr(self._settings, field), now=self.clock)

    @lazy
    def _signed_get(self) -> "SignedGet":
        from nacre.adapters.aws.dynamodb.get import SignedGet

        return signed_requests.signed(SignedGet, self._settings.data_table, self._settings)

    @lazy
    def _signed_append(self) -> "SignedAppend":
        from nacre.adapters.aws.dynamodb.append import SignedAppend

        return signed_requests.signed(SignedAppend, self._settings.data_table, self._settings)

    def read(self, key: tuple[str, str]) -> "Item | None":
        """Return an item of `data` by one signed request, without boto3."""
        if self._role in ("command", "server"):
            from nacre.ports.items.table import Key

            return self.data.get(Key(*key))
        return self._signed_get.get(key)

    @lazy
    def queue(self) -> "SqsQueue":
        """The jobs."""
        from nacre.adapters.aws.sqs_queue import SqsQueue

        self._settings.require("queue_url")
        # This process receives no messages, so none can fail too often.
        return SqsQueue(self.client("sqs"), self._settings.queue_url, dead_letter_url="")

    def postpone(self, message: "Message", seconds: float) -> None:
        """Deliver a message of the queue again after `seconds`."""
        self.queue.postpone(message, seconds)

    def _wake(self, receipt: str) -> None:
        self.queue.wake(receipt)

    @lazy
    def job_signal(self) -> "JobSignal":
        """Unused: the jobs of a stack run in the worker function."""
        from nacre.jobs.notifying_queue import JobSignal

        return JobSignal()

    @lazy
    def dead_letters(self) -> "SqsDeadLetters":
        """The jobs that failed too often."""
        from nacre.adapters.aws.sqs_queue import SqsDeadLetters

        return SqsDeadLetters(
            self.client("sqs"),
            self._settings.queue_url,
            dead_letter_url=self._outputs["DeadLetterQueueUrl"],
        )

    @lazy
    def blobs(self) -> "S3Blobs":
        """Large inputs and results."""
        from nacre.adapters.aws.s3_blobs import S3Blobs

        self._settings.require("bucket")
        return S3Blobs(self.client("s3"), self._settings.bucket, kms_key_id=self._settings.key_arn)

    @lazy
    def media_links(self) -> "S3MediaLinks":
        """Links for large media."""
        from nacre.adapters.aws.s3_media_links import S3MediaLinks

        self._settings.require("bucket")
        return S3MediaLinks(
            self.client("s3"), self._settings.bucket, kms_key_id=self._settings.key_arn
        )

    @lazy
    def vault(self) -> "KmsVault":
        """Seals the secrets of Beings with the stack's key."""
        from nacre.adapters.aws.kms_vault import KmsVault

        self._settings.require("key_arn")
        return KmsVault(self.client("kms"), self._settings.key_arn)

    @lazy
    def secrets(self) -> "SsmSecrets":
        """The named secrets."""
        from nacre.adapters.aws.ssm_secrets import SsmSecrets

        self._settings.require("secrets_path")
        return SsmSecrets(
            self.client("ssm"), prefix=self._settings.secrets_path, key_arn=self._settings.key_arn
        )

    def secret_at(self, place: str) -> str:
        """Return the secret at a path of Systems Manager; empty without a path."""
        if not place:
            return ""
        from nacre.adapters.aws.ssm_secrets import SsmSecrets

        prefix, _, name = place.rpartition("/")
        value = SsmSecrets(self.client("ssm"), prefix=prefix, key_arn="").get(name)
        if value is None:
            raise ConfigurationError(
                f"the secret {name} is not set; set it with: nacre secret set {name} --stack STACK"
            )
        return value

    @lazy
    def residue(self) -> "DynamoResidue":
        """Finds traces of erased texts."""
        from nacre.adapters.aws.dynamodb.residue import DynamoResidue

        tables = [self._settings.data_table]
        if self._role == "command":
            tables.append(self._settings.tokens_table)
        return DynamoResidue(self.client("dynamodb"), tables)

    @lazy
    def health(self) -> "CloudWatchHealth":
        """The alarms and figures of the stack."""
        from nacre.adapters.aws.health import CloudWatchHealth

        return CloudWatchHealth(
            self.client("cloudwatch"),
            self.client("cloudformation"),
            self._settings.stack,
            clock=self.clock,
        )

    @lazy
    def deployment(self) -> "StackDeployment":
        """The resources of the stack."""
        from nacre.adapters.aws.deployment import StackDeployment

        return StackDeployment(self.client, self._settings.stack, clock=self.clock)

    def vectors(self, emb_id: str) -> "VectorIndex":
        """Return the index in files if that is enabled, else the one that searches the items."""
        if not self._settings.search_files:
            from nacre.adapters.vectors.item_vectors import ItemVectors

            return ItemVectors(self.data, emb_id)
        from nacre.adapters.vectors.file_vectors import FileVectors

        return FileVectors(
            self.data,
            lambda: self.blobs,
            emb_id,
            copies=self._copies,
            clock=self.clock,
            rng=self.rng,
        )

    @lazy
    def _copies(self) -> "FileCopies":
        from nacre.adapters.vectors.file_copies import FileCopies
        from nacre.core.limits import INDEX_COPY_BYTES, INDEX_COPY_SECONDS

        return FileCopies(size=INDEX_COPY_BYTES, seconds=INDEX_COPY_SECONDS)

    @lazy
    def trail(self) -> "BeingTrails":
        """Writes the audit of this execution environment, without boto3."""
        from nacre.wiring.features.firewall import BeingTrails

        table = self.data if self._role == "server" else self._signed_append
        return BeingTrails(table, self._settings.stack, self.clock)

    def records(self, being_id: str) -> "AuditRecords":
        """Return the audit of a Being."""
        from nacre.firewall.audit.stored_log import ItemRecords

        return ItemRecords(self.data, being_id, clock=self.clock)

    @lazy
    def commands(self) -> "Commands":
        """The commands that reach this stack."""
        from nacre.firewall.suggested_commands import Commands

        return Commands(place=f" --stack {self._settings.stack or 'NAME'}")

    @lazy
    def order_limits(self) -> "OrderLimits":
        """The limits of orders: as long as API Gateway waits, or as a worker runs."""
        from nacre.being.orders.order.request import OrderLimits

        return OrderLimits.worker() if self._role == "worker" else OrderLimits.gateway()

    @lazy
    def log_levels(self) -> "StoredLogLevels":
        """The log levels that clients of older revisions chose."""
        from nacre.adapters.aws.log_levels import StoredLogLevels

        return StoredLogLevels(self._signed_get, self._signed_append, self.clock)

    @lazy
    def peers(self) -> "Peers":
        """The clients of older revisions."""
        from nacre.protocol.http.legacy_clients import LogLevelPeers

        return LogLevelPeers(lambda: self.log_levels)

    def purge(self) -> None:
        """Do nothing: DynamoDB removes what expires."""

    def close(self) -> None:
        """Do nothing: Lambda ends its environments without notice."""


def mcp_ports(settings: "Settings") -> StackPorts:
    """Return the MCP function's ports; raises ConfigurationError if a setting is missing."""
    settings.require("data_table", "queue_url", "key_arn")
    return StackPorts(settings)


def mcp_gate(settings: "Settings") -> "Gate | None":
    """Return the gate of an MCP function that looks tokens up itself, if that is enabled."""
    from nacre.access.tokens.authentication import Gate

    return Gate(signed_requests.token_lookup(settings)) if settings.resolves_tokens else None


def worker_ports(settings: "Settings") -> StackPorts:
    """Return the worker function's ports; raises ConfigurationError if a setting is missing."""
    settings.require("data_table", "queue_url")
    return StackPorts(settings, "worker")


def open_stack(
    stack: str, settings: "Settings", role: Literal["command", "server"] = "command"
) -> Home:
    """Return a deployed stack as the commands see it; its outputs name its services."""
    client = Clients(settings)
    outputs = stack_outputs(stack, client)
    named = settings._replace(
        stack=stack,
        tokens_table=outputs["TokensTableName"],
        data_table=outputs["DataTableName"],
        queue_url=outputs["QueueUrl"],
        bucket=outputs["BucketName"],
        key_arn=outputs["KeyArn"],
        secrets_path=f"/nacre/{stack}",
        search_files=outputs.get("SearchFiles") == "on",
    )
    return compose(StackPorts(named, role, outputs, clients=client), settings)


def stack_outputs(stack: str, client: "Callable[[str], Any]") -> dict[str, str]:
    """Return a stack's outputs; raises ConfigurationError if the stack is not Nacre's."""
    from nacre.adapters.aws import stack as stacks

    outputs = stacks.stack_outputs(client("cloudformation"), stack)
    missing = [name for name in _OUTPUTS if not outputs.get(name)]
    if missing:
        raise ConfigurationError(
            f"the stack {stack!r} has no output {', '.join(missing)}; is it a Nacre stack, "
            "and did its deployment finish?"
        )
    return outputs


class Clients:
    """Opens clients of AWS services in one session; retrying is left to our adapters."""

    def __init__(self, settings: "Settings") -> None:
        try:
            import boto3
        except ImportError:
            raise ConfigurationError(
                "AWS support is not installed; "
                "in your clone run 'make setup', or pip install '.[aws]'"
            ) from None
        self._endpoint_url = settings.endpoint_url or None
        with _translated():
            self._session = boto3.Session(
                region_name=settings.region or None, botocore_session=_session_core()
            )
            credentials = self._session.get_credentials()
        if credentials is None:
            raise ConfigurationError(
                "there are no AWS credentials; run 'aws configure', or set AWS_PROFILE"
            )

    @property
    def _signing(self) -> dict[str, Any]:
        """The options that sign links to S3 as KMS needs it, for the bucket's own region."""
        style = "path" if self._endpoint_url else "virtual"
        return {
            "signature_version": "s3v4",
            "s3": {"addressing_style": style, "us_east_1_regional_endpoint": "regional"},
        }

    def __call__(self, service: str) -> Any:
        from botocore.config import Config

        from nacre.adapters.aws.incomplete_answers import refuse_broken_answers

        with _translated():
            client = self._session.client(
                service,  # type: ignore[call-overload]  # its name is a literal at every call
                endpoint_url=self._endpoint_url,
                config=Config(
                    retries={"total_max_attempts": 1},
                    connect_timeout=5,
                    read_timeout=20,
                    **(self._signing if service == "s3" else {}),
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
    """Return the shared loader of the services' descriptions, a megabyte that is parsed once."""
    from botocore.loaders import create_loader

    return create_loader()


@contextmanager
def _translated() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError

    try:
        yield
    except BotoCoreError as error:
        raise ConfigurationError(f"AWS: {error}; check AWS_PROFILE and AWS_REGION") from error
