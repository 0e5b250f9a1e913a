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
    "nacre.adapters.aws_answers",
    "nacre.adapters.container_credentials",
    "nacre.adapters.dynamodb_append",
    "nacre.adapters.dynamodb_table",
    "nacre.adapters.item_vectors",
    "nacre.adapters.sqs_queue",
    "nacre.adapters.static_embedder",
    "nacre.memory.memory",
    "nacre.memory.mind",
    "nacre.metrics",
    "nacre.policy.audit",
    "nacre.policy.audit_items",
    "nacre.policy.entry_judge",
    "nacre.policy.judge",
    "nacre.policy.packs",
    "nacre.policy.stored",
    "nacre.tasks.store",
    "nacre.tools.validation",
    "nacre.wiring.indexing",
    "nacre.wiring.policies",
    "nacre.wiring.signed",
)
PORTAL = (
    "boto3",
    "nacre.adapters.dynamodb_table",
    "nacre.faces.console_control_pages",
    "nacre.faces.console_pages",
    "nacre.wiring.admitting",
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
