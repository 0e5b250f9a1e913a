"""The outputs and the resources of a deployed stack."""

from typing import Any

from nacre.adapters.aws.calls import AwsCalls
from nacre.core.errors import ForbiddenError, NotFoundError
from nacre.core.lazy_dataclasses import dataclass

_REFUSALS = ("AccessDenied", "InvalidClientTokenId", "ExpiredToken", "SignatureDoesNotMatch")


def stack_outputs(client: Any, stack: str) -> dict[str, str]:
    """Return the outputs of a stack by name; raises NotFoundError when there is none."""
    missing = NotFoundError(
        f"there is no stack {stack!r} in {client.meta.region_name}; deploy it with "
        "'sam deploy --guided', or choose its region with AWS_REGION"
    )
    errors = {"ValidationError": missing, **_refusals()}
    answer = AwsCalls(client).ask("describe_stacks", errors, StackName=stack)
    outputs = answer["Stacks"][0].get("Outputs", [])
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


@dataclass(frozen=True, slots=True)
class StackResource:
    """One resource, by the name in the template and by the one that AWS gave it."""

    kind: str
    logical: str
    physical: str


def stack_resources(client: Any, stack: str) -> list[StackResource]:
    """Return the resources of a stack that exist."""
    resources: list[StackResource] = []
    page: dict[str, Any] = {}
    while True:
        answer = AwsCalls(client).ask("list_stack_resources", _refusals(), StackName=stack, **page)
        resources += [
            StackResource(summary["ResourceType"], summary["LogicalResourceId"], physical)
            for summary in answer["StackResourceSummaries"]
            if (physical := summary.get("PhysicalResourceId"))
        ]
        if "NextToken" not in answer:
            return resources
        page = {"NextToken": answer["NextToken"]}


def _refusals() -> dict[str, Exception]:
    forbidden = ForbiddenError("these AWS credentials may not read the stack")
    return dict.fromkeys(_REFUSALS, forbidden)
