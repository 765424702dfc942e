"""``python -m kandev_nb.agents.scripted``: play a scenario on standard input and output."""

import asyncio
import gc
import logging
import os
import sys
from typing import cast

from kandev_nb.agents.scripted.options import Script, parse


def main() -> None:
    """Play until the client closes our standard input."""
    script = parse()
    _load_quickly()
    # Standard error is the script's to write to, and these libraries log what they receive.
    logging.disable()
    asyncio.run(_play(script))


def _load_quickly() -> None:
    """Halve the time to the first answer: this process is started hundreds of times in tests."""
    import pydantic

    # The two libraries define a thousand models and use a few: they are built when first used.
    pydantic.BaseModel.model_config = pydantic.ConfigDict(defer_build=True)
    gc.disable()
    import acp  # noqa: F401 - loaded here, without the collector

    gc.freeze()
    gc.enable()


async def _play(script: Script) -> None:
    from acp import Agent, run_agent
    from acp.stdio import stdio_streams

    from kandev_nb.agents.scripted.agent import ScriptedAgent
    from kandev_nb.agents.scripted.stage import Stage

    reader, writer = await stdio_streams()
    stage = Stage(script, writer.write)
    agent = ScriptedAgent(script, stage)
    # The library asks for every method of the protocol, and answers for those that are missing.
    await run_agent(
        cast(Agent, agent),
        writer,
        reader,
        observers=[stage.observe],
        # Without it the library answers -32601 to resume, fork and close.
        use_unstable_protocol=True,
    )
    await agent.end()
    sys.stderr.flush()
    # Without farewell to the servers that are reached over HTTP, as most agents leave.
    os._exit(0)


if __name__ == "__main__":
    main()
