"""The server through fastmcp's client, in both protocol eras."""

from __future__ import annotations

import json
import re
import time

import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from harness import LIVE_WITHIN_S, check, command, contains, drop, environment, equal, folder, report

FIXED = ["list_workflows", "run_workflow", "get_run", "cancel_run"]
TEXT = {"text": "Punctual answers before its deadline. It validates. It says what it cost."}
RUN_ID = re.compile(r"run_[0-9a-f]{16}")
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}


def text(result) -> str:
    return "\n".join(block.text for block in result.content)


class Progress:
    """What a call told while it ran."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.run_id = ""
        self.first = anyio.Event()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.values.append(progress)
        found = RUN_ID.search(message or "")
        self.run_id = self.run_id or (found.group() if found else "")
        self.first.set()


async def calls(client: Client, era: str) -> None:
    async with check(f"fastmcp, {era}: the server introduces itself and lists its tools"):
        equal(client.protocol_version, ERAS[era], "version")
        equal(client.server_info.name, "punctual", "server name")
        equal([tool.name for tool in await client.list_tools()], ["quick", "slow", *FIXED], "tools")
    async with check(f"fastmcp, {era}: a call's result is data of the output schema's type"):
        result = await client.call_tool("quick", TEXT)
        equal(json.loads(result.content[0].text), result.structured_content, "text and structure")
        summary = result.data["summary"] if isinstance(result.data, dict) else result.data.summary
        equal(summary, result.structured_content["summary"], "data")
    async with check(f"fastmcp, {era}: progress increases and tells the run"):
        progress = Progress()
        await client.call_tool("quick", {"text": "Other words."}, progress_handler=progress)
        equal(len(progress.values) > 0, True, "some progress")
        equal(progress.values, sorted(set(progress.values)), "progress")
        equal(bool(progress.run_id), True, "a run id")
    async with check(f"fastmcp, {era}: a run that fails is an error of the tool that says why"):
        meta = {"punctual/deadlineMs": 700}
        result = await client.call_tool("slow", TEXT, meta=meta, raise_on_error=False)
        equal(result.is_error, True, "isError")
        contains(text(result), "deadline", "run_")


async def cancelling(client: Client, era: str) -> None:
    async with check(f"fastmcp, {era}: a cancelled call cancels its run"):
        progress = Progress()
        async with anyio.create_task_group() as group:

            async def call() -> None:
                await client.call_tool("slow", {"text": f"cancel {era}"}, progress_handler=progress)

            group.start_soon(call)
            with anyio.fail_after(5):
                await progress.first.wait()
            group.cancel_scope.cancel()
        result = await client.call_tool("get_run", {"run_id": progress.run_id, "wait_s": 3})
        equal(result.structured_content["outcome"], "cancelled", "outcome")


async def reloading(client: Client, era: str, directory) -> None:
    async with check(f"fastmcp, {era}: a dropped file is a tool within a second"):
        since = drop(directory, "added.yaml", "added.yaml")
        while "added" not in [tool.name for tool in await client.list_tools()]:
            equal(time.monotonic() - since < LIVE_WITHIN_S, True, "in time")
            await anyio.sleep(0.02)
        result = await client.call_tool("added", {"word": "hello"})
        equal(result.is_error, False, f"isError of {text(result)}")


async def session(era: str) -> None:
    with folder() as directory:
        program, *arguments = command(directory)
        log = directory.parent / "fastmcp.log"
        transport = StdioTransport(
            program, arguments, env=environment(directory), cwd="/", keep_alive=False, log_file=log
        )
        client = Client(transport, mode=era, timeout=60)
        async with client:
            await calls(client, era)
            await cancelling(client, era)
            await reloading(client, era, directory)
        async with check(f"fastmcp, {era}: leaving the client is quick"):
            began = time.monotonic()
            await client.close()
            equal(time.monotonic() - began < 2, True, "in time")


async def main() -> None:
    for era in ERAS:
        try:
            with anyio.fail_after(120):
                await session(era)
        except Exception as error:  # a session that breaks off is a result too
            report(f"fastmcp, {era}: the session holds", error)


anyio.run(main)
