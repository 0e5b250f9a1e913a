"""What `sam local start-api` does to requests, with Lambda's runtime client for containers.

Runs in SAM CLI's own environment. Standard input is JSON: the template, each function's
folder, layers and environment, and requests; standard output is JSON: the routes that SAM
found, and its answers.
"""

import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from samcli.lib.providers.api_provider import ApiProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider
from samcli.local.apigw.local_apigw_service import LocalApigwService

from tests.functions.runtime_api import Function


class Runner:
    """Invokes functions where SAM would start containers."""

    def __init__(self, functions: Mapping[str, Mapping[str, Any]], python: str) -> None:
        self._functions = functions
        self._python = python
        self._running: dict[str, Function] = {}
        self.stack = ExitStack()

    def is_debugging(self) -> bool:
        return False

    def invoke(self, name: str, event: str, stdout: Any, stderr: Any, **_: Any) -> None:
        stdout.write_str(json.dumps(self._function(name).invoke(json.loads(event))))

    def _function(self, name: str) -> Function:
        if name not in self._running:
            known = self._functions[name]
            function = Function(
                python=Path(self._python),
                task=Path(known["task"]),
                layers=[Path(layer) for layer in known["layers"]],
                environment=known["environment"],
            )
            self._running[name] = self.stack.enter_context(function)
        return self._running[name]


def main() -> None:
    asked = json.load(sys.stdin)
    stacks, _ = SamLocalStackProvider.get_stacks(asked["template"])
    api = ApiProvider(stacks).api
    runner = Runner(asked["functions"], asked["python"])
    service = LocalApigwService(api=api, lambda_runner=runner, port=3000)
    service.create()
    client = service._app.test_client()
    with runner.stack:
        answers = [client.open(**request) for request in asked["requests"]]
    json.dump(
        {
            "routes": [
                {
                    "methods": sorted(route.methods),
                    "path": route.path,
                    "function": route.function_name,
                    "authorizer": getattr(route.authorizer_object, "lambda_name", None),
                    "payload": route.payload_format_version,
                }
                for route in api.routes
            ],
            "answers": [
                {"status": answer.status_code, "body": answer.get_data(as_text=True)}
                for answer in answers
            ],
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
