from collections import Counter
from functools import cache
from typing import Any

import boto3
import pytest
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator
from samtranslator.yaml_helper import yaml_parse

from tests.infra.declared import FUNCTIONS, PATH, resources


@cache
def transformed() -> dict[str, Any]:
    """Return the template as CloudFormation gets it."""
    declared: dict[str, Any] = yaml_parse(PATH.read_text(encoding="utf-8"))
    for resource in declared["Resources"].values():
        for folder in ("CodeUri", "ContentUri"):  # what packaging uploads
            if folder in resource["Properties"]:
                resource["Properties"][folder] = "s3://bucket/code.zip"
    # No managed policies to look up: the template writes its roles out.
    translator = Translator({}, Parser(), boto_session=boto3.Session(region_name="eu-central-1"))
    result: dict[str, Any] = translator.translate(sam_template=declared, parameter_values={})
    return result


def test_sam_adds_no_resource_to_those_that_are_written_out() -> None:
    kinds = Counter(resource["Type"] for resource in transformed()["Resources"].values())

    assert kinds["AWS::Lambda::Function"] == len(FUNCTIONS)
    assert kinds["AWS::Lambda::LayerVersion"] == 4
    assert kinds["AWS::IAM::Role"] == len(resources("AWS::IAM::Role"))
    assert kinds["AWS::Lambda::EventSourceMapping"] == 1
    assert not [kind for kind in kinds if kind.startswith("AWS::Serverless")]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_what_globals_say_reaches_each_function(name: str) -> None:
    function = transformed()["Resources"][name]["Properties"]

    assert function["Runtime"] == "python3.13"
    mode = {"Fn::If": ["HasTraces", "Active", "PassThrough"]}
    assert function["TracingConfig"] == {"Mode": mode}
    assert function["Handler"] == "handler.handle"
    assert function["Environment"]["Variables"]["NACRE_LOG_LEVEL"] == {"Ref": "LogLevel"}
