"""What a function does before its memory is kept as a snapshot, and after it is restored."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.wiring.settings import Settings

# What first calls would load. Modules alone: a connection or a random number made here would be
# the same in every environment that starts from the snapshot.
MCP = (
    "jsonschema_rs",
    "numpy",
    "boto3",
    "nacre.access.beings",
    "nacre.adapters.aws.incomplete_answers",
    "nacre.adapters.aws.container_credentials",
    "nacre.adapters.aws.dynamodb.append",
    "nacre.adapters.aws.dynamodb.table",
    "nacre.adapters.vectors.item_vectors",
    "nacre.adapters.aws.sqs_queue",
    "nacre.adapters.embeddings.static_embedder",
    "nacre.being.memory.repositories",
    "nacre.being.memory.services",
    "nacre.core.metrics",
    "nacre.firewall.audit.log",
    "nacre.firewall.audit.stored_log",
    "nacre.firewall.entry.entry_judge",
    "nacre.firewall.enforce.judge",
    "nacre.firewall.policies.packs",
    "nacre.firewall.policies.stored_policy",
    "nacre.being.tasks.store",
    "nacre.sdk.schema.validation",
    "nacre.wiring.features.index",
    "nacre.wiring.features.policies",
    "nacre.wiring.signed_requests",
)
PORTAL = (
    "boto3",
    "nacre.adapters.aws.dynamodb.table",
    "nacre.console.control_pages",
    "nacre.console.memory_pages",
    "nacre.wiring.features.access",
)
SERVICES = ("dynamodb", "sqs")


def ready(settings: "Settings", modules: tuple[str, ...]) -> None:
    """Where the function starts from a snapshot, load the modules into it; elsewhere do nothing."""
    if not settings.starts_from_snapshot:
        return
    from snapshot_restore_py import register_after_restore, register_before_snapshot

    register_before_snapshot(_load, modules)
    register_after_restore(_renew)


def _load(modules: tuple[str, ...]) -> None:
    from importlib import import_module

    from nacre.wiring.aws import service_descriptions

    for name in modules:
        import_module(name)
    for service in SERVICES:
        service_descriptions().load_service_model(service, "service-2")


def _renew() -> None:
    """Part ways with the other environments: vendors draw their pauses from this generator."""
    import random

    random.seed()
