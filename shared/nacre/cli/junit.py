"""Results of fixtures in the XML that build servers read."""

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from nacre.policy.approval_form import printable
from nacre.policy.fixtures import Tried
from nacre.policy.policy import Policy


def junit(policy: Policy, results: Sequence[Tried], reasons: Sequence[str]) -> bytes:
    """Return one test case for each fixture; one without an expectation counts as passed."""
    suite = Xml.Element(
        "testsuite",
        name=f"nacre policy {printable(policy.source)}",
        tests=str(len(results)),
        failures=str(sum(each.is_wrong for each in results)),
        errors="0",
        skipped="0",
    )
    for each, reason in zip(results, reasons, strict=True):
        case = Xml.SubElement(
            suite,
            "testcase",
            classname=printable(each.fixture.parent.as_posix()),
            name=printable(each.fixture.stem),
        )
        said = f"{each.decision.action} ({printable(reason)})"
        if each.is_wrong:
            message = f"expected {each.expected}, got {said}"
            Xml.SubElement(case, "failure", message=message, type="decision")
        else:
            Xml.SubElement(case, "system-out").text = said
    document = Xml.Element("testsuites")
    document.append(suite)
    Xml.indent(document)
    return bytes(Xml.tostring(document, encoding="utf-8", xml_declaration=True)) + b"\n"
