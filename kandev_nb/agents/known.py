"""The built-in agents, as they were measured.

Each version named here was installed and watched from both sides, with MCP servers over every
transport. Measure again before naming another one. What a login or a key is called is the word of
the agent's documentation.
"""

import sys
from typing import Any, Final

from kandev_nb.agents.spec import AgentSpec, NetworkTransport

_NONE: Final = frozenset[NetworkTransport]()
_HTTP: Final = frozenset[NetworkTransport]({"http"})
_BOTH: Final = frozenset[NetworkTransport]({"http", "sse"})


def _from_npm(package: str, **known: Any) -> AgentSpec:
    return AgentSpec(npm=package, install=f"npm install --global {package}", **known)


BUILT_IN: Final = (
    _from_npm(
        "@agentclientprotocol/claude-agent-acp@0.101.0",
        id="claude",
        title="Claude Code",
        command=("claude-agent-acp",),
        advertises=_BOTH,
        passthrough="claude",
        needs=(
            "Log in once with `claude`, or set ANTHROPIC_API_KEY.",
            "As root, set IS_SANDBOX=1.",
        ),
        notes=(
            "0.101.0 speaks MCP 2026-07-28: none of its connections is seen to close.",
            "0.101.0 offers MCP tools to the model behind a search tool.",
            "0.101.0 says that a server failed only at the first prompt.",
        ),
    ),
    _from_npm(
        "@agentclientprotocol/codex-acp@2.6.0",
        id="codex",
        title="Codex",
        command=("codex-acp",),
        advertises=_HTTP,
        passthrough="codex",
        needs=(
            "Log in once with `codex login`, or set OPENAI_API_KEY and "
            'DEFAULT_AUTH_REQUEST={"methodId":"api-key"}.',
        ),
        notes=("2.6.0 keeps its connections until it exits.",),
    ),
    _from_npm(
        "@google/gemini-cli@0.61.0",
        id="gemini",
        title="Gemini CLI",
        command=("gemini", "--acp"),
        # Relaunched, it would leave a process behind that no longer listens.
        env={"GEMINI_CLI_NO_RELAUNCH": "true"},
        advertises=_BOTH,
        passthrough="gemini",
        needs=(
            "Log in once with `gemini`, or set GEMINI_API_KEY.",
            "Trust the folder in `gemini`, or set GEMINI_CLI_TRUST_WORKSPACE=true.",
        ),
        notes=("0.61.0 connects to no server in a folder that is not trusted.",),
    ),
    _from_npm(
        "opencode-ai@1.18.33",
        id="opencode",
        title="opencode",
        command=("opencode", "acp"),
        env={"OPENCODE_DISABLE_AUTOUPDATE": "1"},
        advertises=_BOTH,
        passthrough="opencode",
        reset_by_restart=True,
        needs=("Log in to a model provider with `opencode auth login`; only prompts need it.",),
        notes=(
            "1.18.33 never says that a server refused it.",
            "1.18.33 drops a server when another session of its process has one of that name.",
        ),
    ),
    _from_npm(
        "@kilocode/cli@7.7.7",
        id="kilo",
        title="Kilo Code",
        command=("kilo", "acp"),
        advertises=_BOTH,
        reset_by_restart=True,
        needs=(
            "Log in to a model provider with `kilo auth login`; only prompts need it.",
            "Install its binary beside it where npm leaves it out: on Linux with an x64 processor "
            "@kilocode/cli-linux-x64@7.7.7.",
        ),
        notes=(
            "7.7.7 never says that a server refused it.",
            "7.7.7 drops a server when another session of its process has one of that name.",
        ),
    ),
    _from_npm(
        "@github/copilot@1.0.102",
        id="copilot",
        title="GitHub Copilot CLI",
        command=("copilot", "--acp"),
        advertises=_BOTH,
        needs=("Log in once with `copilot login`, or set COPILOT_GITHUB_TOKEN.",),
        notes=(
            "1.0.102 accepts stdio servers and starts none of them.",
            "1.0.102 speaks MCP 2026-07-28: none of its connections is seen to close.",
            "1.0.102 never says that a server refused it.",
        ),
    ),
    _from_npm(
        "@qwen-code/qwen-code@0.24.4",
        id="qwen",
        title="Qwen Code",
        command=("qwen", "--acp"),
        advertises=_BOTH,
        needs=(
            "Node 22 or newer, first on PATH.",
            "Log in once with `qwen`, or set OPENAI_API_KEY.",
        ),
        failure_lines=(r"Warning: MCP server\(s\) failed to start: (?P<server>[^,]{1,256}?)\. .*",),
        notes=(
            "0.24.4 connects to its servers before it asks for a login.",
            "0.24.4 may call a server failed that answered it.",
        ),
    ),
    _from_npm(
        "@augmentcode/auggie@0.36.0",
        id="auggie",
        title="Auggie",
        command=("auggie", "--acp"),
        advertises=_NONE,
        takes=_HTTP,
        reset_by_restart=True,
        needs=("Log in once with `auggie login`, or set AUGMENT_SESSION_AUTH.",),
        failure_lines=(r"\W*(?P<server>\S.{0,255}?) \(failed\)",),
        notes=(
            "0.36.0 connects only when its permission request has been answered.",
            "0.36.0 gives a second session of its process the first one's servers of that name.",
        ),
    ),
    _from_npm(
        "cline@3.0.65",
        id="cline",
        title="Cline",
        command=("cline", "--acp"),
        advertises=_NONE,
        needs=("Log in once with `cline auth`.",),
        notes=(
            "3.0.65 accepts servers and connects to none of them.",
            "3.0.65 leaves a daemon running that kandev-nb cannot end.",
        ),
    ),
    _from_npm(
        "pi-acp@0.0.34",
        id="pi",
        title="Pi",
        command=("pi-acp",),
        advertises=_NONE,
        passthrough="pi",
        needs=("Pi itself, the command `pi`, with a login or a provider's API key.",),
        notes=("0.0.34 accepts servers and connects to none of them.",),
    ),
    AgentSpec(
        id="fast-agent",
        title="fast-agent",
        # This model needs no account: it repeats a prompt, or calls the tool that it names.
        command=("fast-agent-acp", "--model", "passthrough"),
        install="uv tool install --python 3.12 fast-agent-mcp==0.10.48",
        advertises=_BOTH,
        reset_by_restart=True,
        needs=("Python 3.12 or newer, which may be another one than the kernel's.",),
        notes=(
            "0.10.48 refuses the session when one of its servers fails.",
            "0.10.48 refuses a server whose name another session of its process has.",
            "0.10.48 speaks MCP 2026-07-28: none of its connections is seen to close.",
        ),
    ),
    AgentSpec(
        id="scripted",
        title="Scripted reference agent",
        # -P: a session's directory must not lend its modules to the agent.
        command=(sys.executable, "-P", "-m", "kandev_nb.agents.scripted"),
        install="comes with kandev-nb",
        advertises=_BOTH,
    ),
)
