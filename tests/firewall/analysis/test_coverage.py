from nacre.firewall.analysis.coverage import Coverage, ToolCoverage, coverage
from tests.firewall.deciding import policy

TEXT = """
[[rule]]
action = "deny"
tool = "read"
args.path = "/etc/**"

[[rule]]
action = "allow"
tool = "read"

[[rule]]
action = "prompt"
tool = "write"
server = "fs"

[[rule]]
action = "deny"
tool = "delete*"

[[rule]]
action = "allow"
tool = "misspelt"

[[rule]]
action = "allow"
resource = "file:///a/**"
"""


def test_each_tool_has_its_rules_and_its_fate() -> None:
    tools = {"fs": ["read", "write", "delete_all", "other"], "git": ["write", "read"]}
    assert coverage(policy(TEXT), tools) == Coverage(
        tools=(
            ToolCoverage("fs", "delete_all", "denied", (4,)),
            ToolCoverage("fs", "other", "unmentioned", ()),
            ToolCoverage("fs", "read", "depends", (1, 2)),
            ToolCoverage("fs", "write", "asked", (3,)),
            ToolCoverage("git", "read", "depends", (1, 2)),
            ToolCoverage("git", "write", "unmentioned", ()),
        ),
        idle_rules=(5,),
    )


def test_an_allow_that_looks_at_arguments_leaves_the_rest_denied() -> None:
    text = '[[rule]]\naction = "allow"\ntool = "read"\nargs.path = "/a/**"\n'
    (found,) = coverage(policy(text), {"fs": ["read"]}).tools
    assert found.fate == "depends"
    (found,) = coverage(policy(text.replace("allow", "deny")), {"fs": ["read"]}).tools
    assert found.fate == "denied"
