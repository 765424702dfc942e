"""A matrix as a JUnit report: a suite an agent, a test case a transport.

What is required and was not observed is a failure; an agent that did not take the session an error,
where something is required; one that is not installed is skipped.
"""

from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree as ET

from kandev_nb.attachment.words import visible
from kandev_nb.probing.matrix import Cell
from kandev_nb.probing.summary import Requirement


def junit(cells: Sequence[Cell], required: Requirement | None) -> str:
    """Return the report as XML."""
    root = ET.Element("testsuites", name="kandev-nb matrix")
    for agent, of_agent in groupby(cells, lambda cell: cell.agent):
        _add_suite(root, agent, [*of_agent], required)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_suite(
    root: ET.Element, agent: str, cells: Sequence[Cell], required: Requirement | None
) -> None:
    suite = ET.SubElement(root, "testsuite", name=visible(agent), tests=str(len(cells)))
    kinds = [_add_case(suite, cell, required) for cell in cells]
    for kind, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(count, str(kinds.count(kind)))
    suite.set("time", f"{sum(cell.seconds for cell in cells):.3f}")


def _add_case(suite: ET.Element, cell: Cell, required: Requirement | None) -> str:
    """Add a test case; return the kind of its outcome, empty for one that passed."""
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"kandev-nb.matrix.{visible(cell.agent)}",
        name=cell.transport,
        time=f"{cell.seconds:.3f}",
    )
    kind, message = _outcome(cell, required)
    if kind:
        ET.SubElement(case, kind, message=visible(message))
    if cell.result:
        # Text of an agent may hold what XML cannot.
        said = "\n".join(map(visible, str(cell.result).split("\n")))
        ET.SubElement(case, "system-out").text = said
    return kind


def _outcome(cell: Cell, required: Requirement | None) -> tuple[str, str]:
    if not cell.is_installed:
        return "skipped", "not installed"
    if not cell.fails(required):
        return "", ""
    if cell.result is None:
        return "error", cell.problem
    if not cell.result.was_opened and cell.result.error:
        return "error", cell.result.error.summary
    return "failure", f"{required} was required and not observed"
