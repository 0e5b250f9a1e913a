"""Steps of a function before its memory is kept as a snapshot, and after it is restored."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nacre.wiring.settings import Settings

# Modules that the first calls need. A connection or a random number must not be in the snapshot:
# it would be the same in every environment that starts from it.
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
    "nacre.adapters.embeddings.combined_embedder",
    "nacre.being.memory.repositories",
    "nacre.being.memory.services",
    "nacre.being.tasks.store",
    "nacre.being.tools.registered_tools",
    "nacre.core.metrics",
    "nacre.firewall.audit.log",
    "nacre.firewall.audit.stored_log",
    "nacre.firewall.entry.entry_judge",
    "nacre.firewall.enforce.judge",
    "nacre.firewall.policies.packs",
    "nacre.firewall.policies.stored_policy",
    "nacre.firewall.rules.evaluate",
    "nacre.gateway.joined_surface",
    "nacre.sdk.schema.validation",
    "nacre.text.pasted_text",
    "nacre.wiring.features.firewall",
    "nacre.wiring.features.index",
    "nacre.wiring.features.memory",
    "nacre.wiring.features.policies",
    "nacre.wiring.signed_requests",
)
PORTAL = (
    "boto3",
    "nacre.access.authority",
    "nacre.adapters.aws.dynamodb.table",
    "nacre.console.pages",
)
SERVICES = ("dynamodb", "sqs")


def preload(settings: "Settings", modules: tuple[str, ...]) -> None:
    """Load the modules into the snapshot, if the function starts from one."""
    if not settings.starts_from_snapshot:
        return
    from snapshot_restore_py import register_after_restore, register_before_snapshot

    register_before_snapshot(_load, modules)
    register_after_restore(_renew)


def _load(modules: tuple[str, ...]) -> None:
    from importlib import import_module

    from nacre.wiring.aws import service_descriptions
    from nacre.wiring.features.memory import calm_numpy

    calm_numpy()
    for name in modules:
        import_module(name)
    for service in SERVICES:
        service_descriptions().load_service_model(service, "service-2")


def _renew() -> None:
    """Seed the random numbers again, so that pauses differ from those of other environments."""
    import random

    random.seed()
