"""What template.yaml declares, with intrinsic functions spelled out."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).parents[2]
PATH = ROOT / "template.yaml"
FUNCTIONS = {
    "McpHttpFunction",
    "TokenAuthorizerFunction",
    "PatrolWorkerFunction",
    "PolicyEvaluatorFunction",
    "PortalFunction",
}


@cache
def template() -> dict[str, Any]:
    """Return the template as it stands."""
    parsed: dict[str, Any] = yaml_parse(PATH.read_text(encoding="utf-8"))
    return parsed


def resources(kind: str) -> dict[str, dict[str, Any]]:
    """Return the properties of the resources of one type, by logical id."""
    return {
        name: resource.get("Properties", {})
        for name, resource in template()["Resources"].items()
        if resource["Type"] == kind
    }


def functions() -> dict[str, dict[str, Any]]:
    """Return the functions' properties, with what Globals gives to each."""
    shared: dict[str, Any] = template()["Globals"]["Function"]
    whole = {}
    for name, own in resources("AWS::Serverless::Function").items():
        variables = {
            **shared["Environment"]["Variables"],
            **own.get("Environment", {}).get("Variables", {}),
        }
        whole[name] = {**shared, **own, "Environment": {"Variables": variables}}
    return whole


def named(value: Any) -> str:
    """Return the logical id that an intrinsic function points to, with what follows it.

    `!GetAtt Table.Arn` and `!Ref Table` are `Table`; `!Sub ${Table.Arn}/index/gsi1` is
    `Table/index/gsi1`. Of what depends on versions, it is what holds without them.
    """
    match value:
        case {"Fn::If": ["HasVersions", _, plain]}:
            return named(plain)
        case {"Ref": str(name)}:
            return name
        case {"Fn::GetAtt": [str(name), *_]}:
            return name
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{(\w+)\.Arn\}", r"\1", text)
        case str():
            return value
        case _:
            raise AssertionError(f"unexpected: {value}")


def layers(function: dict[str, Any]) -> list[str]:
    """Return the layers of a function that are ours; a user's own is there on a condition."""
    return [named(layer) for layer in function["Layers"] if "Fn::If" not in layer]


def as_list(value: Any) -> list[Any]:
    """Return a policy's one or several as a list."""
    return value if isinstance(value, list) else [value]


def statements(role: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return every statement of a role's policies."""
    return [
        statement
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
    ]
