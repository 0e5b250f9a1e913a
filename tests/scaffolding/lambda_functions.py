"""The functions as they are deployed: their own folder, their layers, their environment."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from infra.tools import MissingPythonError, programs
from tests.functions.runtime_api import Function
from tests.infra.declared import ROOT, functions
from tests.infra.declared import layers as layers_of
from tests.scaffolding.lambda_layers import layer

# What template.yaml hands over, with names instead of references.
_VALUES = {
    "AWS_ENDPOINT_URL": "",
    "NACRE_LOG_LEVEL": "INFO",
    "NACRE_STACK": "nacre",
    "NACRE_PUBLIC_URL": "",
    "NACRE_FRONT_SECRET": "",
    "NACRE_TOKENS_TABLE": "tokens",
    "NACRE_DATA_TABLE": "data",
    "NACRE_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/123456789012/patrol.fifo",
    "NACRE_BLOBS_BUCKET": "blobs",
    "NACRE_QDRANT_URL": "",
    "NACRE_QDRANT_SECRET": "",
    "NACRE_SEARCH_FILES": "off",
    "NACRE_MEDIA_LINKS": "off",
    "NACRE_TOOL_SERVERS": "",
    "NACRE_READ_TOOLS": "",
    "NACRE_TOOLS": "auto",
    "NACRE_VISIBLE_TOOLS": "",
    "NACRE_PRIVATE_NETWORKS": "",
    "NACRE_SECRETS": "/nacre/test",
    "NACRE_EMBEDDINGS": "builtin",
    "NACRE_EMBEDDING_MODEL": "",
    "NACRE_EMBEDDING_DIMENSIONS": "",
    "NACRE_EMBEDDING_BASE_URL": "",
    "NACRE_EMBEDDING_SECRET": "",
    "NACRE_LLM_BASE_URL": "",
    "NACRE_LLM_MODEL": "",
    "NACRE_LLM_SECRET": "",
    "NACRE_LLM_DAILY_TOKENS": "500000",
    "NACRE_HEARD_FACTS": "0",
    "NACRE_LLM_DAILY_DOLLARS": "",
    "NACRE_LLM_PRICES": "",
    "NACRE_ORDER_NAME": "",
    "NACRE_TRANSCRIBE_MODEL": "",
    "NACRE_TRANSCRIBE_BASE_URL": "",
    "NACRE_TRANSCRIBE_SECRET": "",
    "NACRE_TRANSCRIBE_PRICE": "0.006",
    "NACRE_KMS_KEY": "arn:aws:kms:us-east-1:123456789012:key/0b5ad6a5",
}


def runtime_python() -> Path:
    """Return a Python of the functions' version with Lambda's runtime client, or skip."""
    try:
        return programs("runtime") / "python"
    except MissingPythonError:
        pytest.skip("no Python 3.13 on this machine")


def task(name: str) -> Path:
    """Return a function's own folder."""
    return ROOT / str(functions()[name]["CodeUri"])


def layers(name: str) -> list[Path]:
    """Return what a function's layers put on the import path."""
    names = [each.removesuffix("Layer").lower() for each in layers_of(functions()[name])]
    return [layer(each).python for each in names]


def environment(name: str, **others: str) -> dict[str, str]:
    """Return the variables that a function is given."""
    given = functions()[name]["Environment"]["Variables"]
    return {**{variable: _VALUES[variable] for variable in given}, **others}


def deployed(
    name: str,
    *,
    variables: Mapping[str, str] | None = None,
    handler: str = "handler.handle",
    beside: Path | None = None,
    tools: Sequence[Path] = (),
    wrapper: Sequence[str] = (),
) -> Function:
    """Return a function, to be started.

    `beside` is a folder with another handler, `tools` what a layer of the owner's adds.
    """
    own = task(name)
    return Function(
        python=runtime_python(),
        task=beside or own,
        layers=[*([own] if beside else []), *layers(name), *tools],
        handler=handler,
        environment=environment(name, **(variables or {})),
        memory=int(functions()[name]["MemorySize"]),
        wrapper=wrapper,
    )


def description(name: str, **others: str) -> dict[str, Any]:
    """Return a function as JSON, for a process that starts it itself."""
    return {
        "task": str(task(name)),
        "layers": [str(path) for path in layers(name)],
        "environment": environment(name, **others),
    }
