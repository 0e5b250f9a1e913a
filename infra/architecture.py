"""Draw the way of a call, the deployed stack, and the package's layers and folders for the docs.

`python -m infra.architecture` puts them between the markers of docs/concepts/architecture.md. A
test fails when they are not up to date.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "concepts" / "architecture.md"
PACKAGE = ROOT / "shared" / "nacre"

# What is drawn besides functions: the kind of resource, and its shape around the words.
_KEEPERS = {
    "AWS::DynamoDB::Table": '[("{}")]',
    "AWS::S3::Bucket": '[("{}")]',
    "AWS::SQS::Queue": '[/"{}"/]',
}
_SECRETS = "Secrets"
_READS = re.compile(r"dynamodb:(Get|BatchGet|Query)|s3:Get|ssm:Get")
_WRITES = re.compile(r"dynamodb:(Put|Update|Delete)|s3:(Put|Delete)")

# The way of a call: folders of the package with what each does, and who hands the call to whom.
_STATIONS = {
    "faces": "HTTP, stdio or Lambda",
    "access": "whose token, which Being",
    "protocol": "strict message, version, scope",
    "firewall": "rules, approvals, audit",
    "being/tools": "the Being's own tools",
    "being/orders": "the Being as one tool",
    "gateway": "other servers, your own tools",
    "being/memory": "scenes, memories, search",
    "being/patrol": "scenes become memories",
    "ports": "items, index, queue, blobs",
}
_HANDOVERS = (
    ("faces", "access", ""),
    ("access", "protocol", ""),
    ("protocol", "firewall", ""),
    ("firewall", "being/tools", ""),
    ("firewall", "being/orders", ""),
    ("firewall", "gateway", ""),
    ("being/tools", "being/memory", ""),
    ("being/tools", "being/patrol", "scenes wait"),
    ("being/patrol", "being/memory", ""),
    ("being/orders", "firewall", "the model's calls, as its caller"),
    ("being/memory", "ports", ""),
)

Resources = Mapping[str, Mapping[str, Any]]


def page(text: str) -> str:
    """Return the page with everything between its markers drawn anew."""
    resources = yaml_parse((ROOT / "template.yaml").read_text(encoding="utf-8"))["Resources"]
    drawn = {
        "call": call(),
        "diagram": diagram(resources),
        "packages": packages(),
        "folders": folders(),
    }
    for name, content in drawn.items():
        begin, end = f"<!-- {name}: drawn by infra/architecture.py -->", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}\n\n{content}\n\n{end}{after}"
    return text


def call() -> str:
    """Return the way of a call through the package as Mermaid; raise if a folder is missing."""
    lines = ['    client(["client"]) --> faces']
    for folder, work in _STATIONS.items():
        if not (PACKAGE / folder / "__init__.py").exists():
            raise LookupError(f"the package has no folder {folder}")
        lines.append(f'    {Path(folder).name}["{folder}: {work}"]')
    for giver, taker, words in _HANDOVERS:
        arrow = f'-- "{words}" -->' if words else "-->"
        lines.append(f"    {Path(giver).name} {arrow} {Path(taker).name}")
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def diagram(resources: Resources) -> str:
    """Return the functions, what they keep and who calls whom, as Mermaid."""
    lines = ['    Clients(["clients, browsers"]) --> HttpApi{{"HTTP API"}}']
    lines += [f"    {line}" for line in (*_nodes(resources), *_edges(resources))]
    return "\n".join(["```mermaid", "flowchart LR", *lines, "```"])


def _nodes(resources: Resources) -> Iterator[str]:
    for name, resource in resources.items():
        if resource["Type"] == "AWS::Serverless::Function":
            yield f'{name}["{_folder(resource)}"]'
        elif shape := _KEEPERS.get(resource["Type"]):
            yield name + shape.format(_words(name))
    yield f'{_SECRETS}[("secrets, in Systems Manager")]'


def _edges(resources: Resources) -> Iterator[str]:
    for function, routes in _routes(resources).items():
        yield f'HttpApi -- "{"<br/>".join(routes)}" --> {function}'
    for name, resource in resources.items():
        properties = resource.get("Properties", {})
        match resource["Type"]:
            case "AWS::ApiGatewayV2::Authorizer":
                function = _named(properties["AuthorizerUri"], resources)
                yield f'HttpApi -. "whose token, for {_guarded(resources)}" .-> {function}'
            case "AWS::Lambda::EventSourceMapping":
                queue = _named(properties["EventSourceArn"], resources)
                yield f'{queue} -- "a job" --> {_named(properties["FunctionName"], resources)}'
            case "AWS::Scheduler::Schedule":
                every = properties["ScheduleExpression"].removeprefix("rate(").removesuffix(")")
                yield f'{name}(("every {every}")) --> {_named(properties["Target"], resources)}'
            case "AWS::SQS::Queue" if "RedrivePolicy" in properties:
                dead = _named(properties["RedrivePolicy"], resources)
                times = properties["RedrivePolicy"]["maxReceiveCount"]
                yield f'{name} -. "failed {times} times" .-> {dead}'
            case "AWS::Serverless::Function":
                yield from _grants(name, resources)
            case _:
                pass  # not drawn


def _grants(function: str, resources: Resources) -> Iterator[str]:
    """Yield the rights of a function on the resources that are drawn."""
    granted: dict[str, list[str]] = {}
    for policy in resources[f"{function}Role"]["Properties"]["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            actions = " ".join(statement["Action"])
            keeper = _named(statement["Resource"], resources, _KEEPERS)
            target = keeper or (_SECRETS if "ssm:" in actions else "")
            verbs = {
                "reads": _READS.search(actions),
                "writes": _WRITES.search(actions),
                "sends": "sqs:SendMessage" in actions,
            }
            seen_verbs = granted.setdefault(target, [])
            seen_verbs += [
                verb for verb, is_done in verbs.items() if is_done and verb not in seen_verbs
            ]
    for target, words in granted.items():
        if target and words:
            yield f'{function} -- "{", ".join(words)}" --> {target}'


def _routes(resources: Resources) -> dict[str, list[str]]:
    """The paths that API Gateway hands to each function."""
    routes: dict[str, list[str]] = {}
    for resource in resources.values():
        if resource["Type"] != "AWS::ApiGatewayV2::Route":
            continue
        target = _named(resource["Properties"]["Target"], resources)
        function = _named(resources[target]["Properties"]["IntegrationUri"], resources)
        path = resource["Properties"]["RouteKey"].partition(" ")[2]
        paths = routes.setdefault(function, [])
        if path not in paths:
            paths.append(path)
    return routes


def _guarded(resources: Resources) -> str:
    """The functions that are reached with a token only."""
    targets = [
        _named(resource["Properties"]["Target"], resources)
        for resource in resources.values()
        if resource.get("Properties", {}).get("AuthorizationType") == "CUSTOM"
    ]
    uris = [resources[target]["Properties"]["IntegrationUri"] for target in dict.fromkeys(targets)]
    return ", ".join(_folder(resources[_named(uri, resources)]) for uri in uris)


def _named(value: object, resources: Resources, kinds: Mapping[str, str] | None = None) -> str:
    """The first resource that a value refers to, or ''; an alias stands for its function."""
    for token in re.findall(r"\w+", json.dumps(value)):
        name = f"{token[:-5]}Function" if token.endswith("Alias") else str(token)
        if name in resources and (kinds is None or resources[name]["Type"] in kinds):
            return name
    return ""


def _folder(function: Mapping[str, Any]) -> str:
    return Path(str(function["Properties"]["CodeUri"])).name


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def layers() -> list[list[str]]:
    """Return the parts of each layer, from the layer that may import all others downwards."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    contract = next(item for item in contracts if item.get("containers") == ["nacre"])
    return [re.findall(r"\w+", layer) for layer in contract["layers"]]


def packages() -> str:
    """Return the layers of the package as Mermaid."""
    chain = " --> ".join(
        f'layer{number}["{" · ".join(parts)}"]' for number, parts in enumerate(layers(), start=1)
    )
    return "\n".join(["```mermaid", "flowchart TD", f"    {chain}", "```"])


def folders() -> str:
    """Return the folders of the package as a tree, each with what is inside."""
    files = sorted(PACKAGE.rglob("__init__.py"), key=lambda file: file.parent.parts)
    rows = []
    for file in files:
        parts = file.parent.relative_to(PACKAGE).parts
        if parts:
            words = _first_line("/".join(parts))
            rows.append(f"{'    ' * (len(parts) - 1)}- `{parts[-1]}`: {words}")
    return "\n".join(rows)


def _first_line(part: str) -> str:
    file = PACKAGE / part / "__init__.py"
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
