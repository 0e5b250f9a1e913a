"""Run a handler as Lambda's runtime does for the log, with events from standard input.

python logged.py FOLDER LEVEL; the runtime gives the root logger a handler and the level of
the function's logging configuration, so that whatever libraries say is written.
"""

import importlib
import json
import logging
import sys
import traceback
from types import SimpleNamespace


def main() -> None:
    folder, level = sys.argv[1:]
    logging.basicConfig(stream=sys.stderr, level=level, format="library %(name)s: %(message)s")
    sys.path.insert(0, folder)
    answers: list[object] = []
    handle = importlib.import_module("handler").handle
    for event in json.load(sys.stdin):
        try:
            answers.append(handle(event, SimpleNamespace(aws_request_id="aws-1")))
        except Exception as error:  # noqa: BLE001 - the runtime writes it, with its message
            answers.append({"raised": traceback.format_exception(error)})
    json.dump(answers, sys.stdout)


main()
