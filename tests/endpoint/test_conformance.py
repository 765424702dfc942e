"""The MCP project's own conformance suite, run against an endpoint of user tools.

An endpoint serves tools and nothing else. What the suite asks of tools and of the transport it must
meet, without a warning; what it asks of other features, named here one by one, it must not claim.
"""

import base64
import io
import json
import re
import wave
from pathlib import Path
from typing import Any, Final, NoReturn

import anyio
import mcp_types as types
import PIL.Image
import pytest

from kandev_nb.endpoint import Tool, ToolRegistry, tool_from
from kandev_nb.endpoint.tools import Arguments
from tests.endpoint.conftest import House
from tests.endpoint.node import NODE, programs

MET: Final = (
    "dns-rebinding-protection",
    "json-schema-2020-12",
    "ping",
    "server-initialize",
    "server-sse-multiple-streams",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-image",
    "tools-call-mixed-content",
    "tools-call-simple-text",
    "tools-list",
)

_PROMPTS: Final = "serves no prompts"
_RESOURCES: Final = "serves no resources, only a tool's result can hold one"
_LOGS: Final = "sends clients no log messages"
_ASKS: Final = "a tool asks nothing of the client's user; what asks, asks in the notebook"
NOT_OFFERED: Final = {
    "completion-complete": "completes arguments of prompts and resources, and has neither",
    "elicitation-sep1034-defaults": _ASKS,
    "elicitation-sep1330-enums": _ASKS,
    "logging-set-level": _LOGS,
    "prompts-get-embedded-resource": _PROMPTS,
    "prompts-get-simple": _PROMPTS,
    "prompts-get-with-args": _PROMPTS,
    "prompts-get-with-image": _PROMPTS,
    "prompts-list": _PROMPTS,
    "resources-list": _RESOURCES,
    "resources-read-binary": _RESOURCES,
    "resources-read-text": _RESOURCES,
    "resources-subscribe": _RESOURCES,
    "resources-templates-read": _RESOURCES,
    "resources-unsubscribe": _RESOURCES,
    "server-sse-polling": "resumes no stream: that would mean to keep results that were sent",
    "tools-call-elicitation": _ASKS,
    "tools-call-sampling": "a tool asks nothing of the client's model",
    "tools-call-with-logging": _LOGS,
    "tools-call-with-progress": "a function tells no progress; our signs of life come each 20 s",
}

CONFORMANCE: Final = Path("@modelcontextprotocol", "conformance", "dist", "index.js")


@pytest.mark.anyio
@pytest.mark.timeout(600)  # the first use installs the packages
@pytest.mark.req("EV-1", "CA-1", "SA-4")
async def test_each_scenario_passes_that_an_endpoint_of_tools_can_meet(
    house: House, tmp_path: Path
) -> None:
    endpoint = await house.attempt("attempt-1", ToolRegistry(tools()))

    await run_suite(house.server.url(endpoint), tmp_path)

    faults = faults_by_scenario(tmp_path)
    expected = {name: faults.pop(name, None) for name in NOT_OFFERED}
    assert faults == {name: [] for name in MET}
    assert [name for name, found in expected.items() if not found] == []
    assert house.row is not None
    assert (house.row.status, house.row.tool_count) == ("active", len(tools()))
    assert house.row.used_at


async def run_suite(url: str, results: Path) -> None:
    """Run every scenario; each leaves a report."""
    suite = await anyio.to_thread.run_sync(programs) / "node_modules" / CONFORMANCE
    command = [str(NODE), str(suite), "server", "--suite", "all", "--url", url, "-o", str(results)]
    await anyio.run_process(command, stdout=None, stderr=None, check=False)


def faults_by_scenario(results: Path) -> dict[str, list[str]]:
    """Return what each scenario found wrong, and nothing for one that passed."""
    return {_scenario(report): _faults(report) for report in results.glob("*/checks.json")}


def _scenario(report: Path) -> str:
    named = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT.*", report.parent.name)
    assert named is not None
    return named[1]


def _faults(report: Path) -> list[str]:
    checks = json.loads(report.read_text())
    if not any(check["status"] == "SUCCESS" for check in checks):
        checks = [{"status": "WARNING", "name": "no check succeeded"}, *checks]
    return [
        f"{check['name']}: {check.get('errorMessage')}"
        for check in checks
        if check["status"] in {"FAILURE", "WARNING"}
    ]


def tools() -> list[Tool]:
    """The tools that the scenarios call."""

    def simple_text() -> str:
        """Say something."""
        return "This is a simple text response for testing."

    def image_content() -> PIL.Image.Image:
        """Show a picture."""
        return PIL.Image.new("RGB", (1, 1), "red")

    def audio_content() -> types.AudioContent:
        """Play a sound."""
        return types.AudioContent(type="audio", data=silence(), mime_type="audio/wav")

    def embedded_resource() -> types.EmbeddedResource:
        """Hand over a text."""
        return resource("test://embedded-resource", "text/plain", "An embedded text.")

    async def multiple_content_types() -> list[Any]:
        """Say something, show a picture and hand over a document."""
        mixed = resource("test://mixed-content-resource", "application/json", '{"value": 123}')
        return ["Multiple content types test:", image_content(), mixed]

    def error_handling() -> NoReturn:
        """Fail."""
        raise RuntimeError("This tool intentionally returns an error for testing")

    functions = (
        simple_text,
        image_content,
        audio_content,
        embedded_resource,
        multiple_content_types,
        error_handling,
    )
    user_tools = [tool_from(function, name=f"test_{function.__name__}") for function in functions]
    return [*user_tools, schema_tool()]


def schema_tool() -> Tool:
    """A tool with a schema written by hand: of a function's, only this dialect can be meant."""

    async def call(arguments: Arguments) -> Any:
        return dict(arguments)

    address = {"street": {"type": "string"}, "city": {"type": "string"}}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"type": "object", "properties": address}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": False,
    }
    return Tool(
        types.Tool(
            name="json_schema_2020_12_tool",
            description="Tool with JSON Schema 2020-12 features",
            input_schema=schema,
        ),
        call,
    )


def silence() -> str:
    """A tenth of a second of it, as WAV."""
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setparams((1, 1, 8000, 800, "NONE", "not compressed"))
        sound.writeframes(b"\x80" * 800)
    return base64.b64encode(written.getvalue()).decode("ascii")


def resource(uri: str, mime_type: str, text: str) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return types.EmbeddedResource(type="resource", resource=contents)
