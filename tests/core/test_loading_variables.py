"""Which variables make a program load code."""

import pytest

from nacre.core.loading_variables import loading_variable


@pytest.mark.parametrize(
    "name",
    [
        *("PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS", "PYTHONPYCACHEPREFIX", "LD_PRELOAD"),
        *("LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "OPENSSL_CONF", "GCONV_PATH"),
    ],
)
def test_a_variable_that_loads_code_is_found(name: str) -> None:
    assert loading_variable(["HOME", name, "TOKEN"]) == name


def test_other_variables_are_not_about_code() -> None:
    names = ["PATH", "PYTHON_VERSION", "PYTHONUNBUFFERED", "PYTHONHASHSEED", "TOKEN", "NODE_ENV"]

    assert loading_variable(names) == ""
