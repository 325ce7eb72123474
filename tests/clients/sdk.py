"""The server through the Python SDK's client, in both protocol eras."""

from __future__ import annotations

import re
import time

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.subscriptions import ToolsListChanged

from harness import (
    LIVE_WITHIN_S,
    check,
    command,
    contains,
    drop,
    environment,
    equal,
    folder,
    report,
)

FIXED = ["list_workflows", "run_workflow", "get_run", "cancel_run"]
TEXT = {"text": "Punctual answers before its deadline. It validates. It says what it cost."}
RUN_ID = re.compile(r"run_[0-9a-f]{16}")


class Heard:
    """Changes of the tool list, however they are told."""

    def __init__(self) -> None:
        self.send, self.receive = anyio.create_memory_object_stream[float](100)

    async def on_message(self, message) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self.send.send_nowait(time.monotonic())

    def forget(self) -> None:
        while self.receive.statistics().current_buffer_used:
            self.receive.receive_nowait()

    async def within(self, seconds: float) -> None:
        with anyio.fail_after(seconds):
            await self.receive.receive()


class Progress:
    """What a call told while it ran."""

    def __init__(self) -> None:
        self.values: list[tuple[float, float | None, str]] = []
        self.first = anyio.Event()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.values.append((progress, total, message or ""))
        self.first.set()


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


def text(result) -> str:
    return "\n".join(block.text for block in result.content)


async def basics(client: Client, era: str) -> None:
    async with check(f"{era}: the server introduces itself"):
        equal(client.server_info.name, "punctual", "server name")
        contains(client.instructions or "", "get_run")
        equal(client.protocol_version, {"modern": "2026-07-28", "legacy": "2025-11-25"}[era], "version")
    async with check(f"{era}: tools are listed by name, fixed ones last"):
        equal(await names(client), ["quick", "slow", *FIXED], "tools")
        quick = (await client.list_tools()).tools[0]
        contains(quick.description, "Condenses a text", "20 s", "SIMULATED")
        contains(quick.title, "SIMULATED")
        equal(quick.input_schema["type"], "object", "input root")
        equal(quick.output_schema["type"], "object", "output root")
    async with check(f"{era}: a call delivers structured content, its text and its facts"):
        result = await client.call_tool("quick", TEXT)
        equal(result.is_error or False, False, f"isError of {text(result)}")
        contains(str(result.structured_content), "summary")
        contains(result.content[1].text, "SIMULATED")
        facts = result.meta["punctual/run"]
        equal(facts["outcome"], "delivered", "outcome")
        equal(facts["simulated"], True, "simulated")
        equal(bool(RUN_ID.fullmatch(facts["run_id"])), True, "a run id")
        equal(facts["elapsed_ms"] < facts["deadline_ms"], True, "on time")
    async with check(f"{era}: progress increases and tells the phase"):
        progress = Progress()
        await client.call_tool("quick", TEXT | {"text": "Other words."}, progress_callback=progress)
        seen = [value for value, _, _ in progress.values]
        equal(len(seen) >= 1, True, "some progress")
        equal(seen, sorted(set(seen)), "progress")
        contains(progress.values[-1][2], "run_")
    async with check(f"{era}: wrong arguments are a tool error with every pointer"):
        result = await client.call_tool("quick", {"text": 3, "lenght": 1})
        equal(result.is_error, True, "isError")
        contains(text(result), "/text", "lenght")
    async with check(f"{era}: an unknown tool is answered with a name that exists"):
        result = await client.call_tool("quik", {})
        equal(result.is_error, True, "isError")
        contains(text(result), "quick")
    async with check(f"{era}: run_workflow does what the tool does"):
        result = await client.call_tool("run_workflow", {"workflow": "quick", "input": TEXT, "fresh": True})
        contains(str(result.structured_content), "summary")
    async with check(f"{era}: a caller's own deadline holds"):
        began = time.monotonic()
        result = await client.call_tool("slow", TEXT, meta={"punctual/deadlineMs": 700})
        took = time.monotonic() - began
        equal(result.is_error, True, f"isError of {text(result)}")
        contains(text(result), "deadline")
        equal(took < 0.9, True, f"answered within 0.9 s: {took:.2f} s")


async def cancelling(client: Client, era: str) -> None:
    async with check(f"{era}: a cancelled call cancels its run, and listing does not wait"):
        progress = Progress()
        async with anyio.create_task_group() as calls:

            async def call() -> None:
                await client.call_tool("slow", {"text": f"cancel {era}"}, progress_callback=progress)

            calls.start_soon(call)
            with anyio.fail_after(5):
                await progress.first.wait()
            began = time.monotonic()
            await client.list_tools(cache_mode="bypass")
            equal(time.monotonic() - began < 0.5, True, "listing is quick")
            calls.cancel_scope.cancel()
        run_id = RUN_ID.search(progress.values[0][2]).group()
        result = await client.call_tool("get_run", {"run_id": run_id, "wait_s": 3})
        equal(result.structured_content["outcome"], "cancelled", "outcome")
    async with check(f"{era}: cancel_run ends a call that waits"):
        progress = Progress()
        answers = []
        async with anyio.create_task_group() as calls:

            async def call_and_keep() -> None:
                arguments = {"text": f"cancel_run {era}"}
                answers.append(await client.call_tool("slow", arguments, progress_callback=progress))

            calls.start_soon(call_and_keep)
            with anyio.fail_after(5):
                await progress.first.wait()
            run_id = RUN_ID.search(progress.values[0][2]).group()
            waiting = await client.call_tool("get_run", {"run_id": run_id, "wait_s": 0})
            equal(waiting.structured_content["outcome"], "running", "outcome")
            await client.call_tool("cancel_run", {"run_id": run_id})
        equal(answers[0].is_error, True, "isError")
        contains(text(answers[0]), "cancelled", run_id)


async def reloading(client: Client, era: str, directory, heard: Heard) -> None:
    # The client may cache lists for as long as the server allows; it allows none.
    async def listed_within(name: str, present: bool, since: float) -> None:
        while (name in await names(client)) != present:
            if time.monotonic() - since > LIVE_WITHIN_S:
                raise AssertionError(f"{name} present is not {present} within {LIVE_WITHIN_S} s")
            await anyio.sleep(0.02)

    async with check(f"{era}: a dropped file is a tool within a second, and told"):
        heard.forget()
        since = drop(directory, "added.yaml", "added.yaml")
        await listed_within("added", True, since)
        await heard.within(LIVE_WITHIN_S)
        result = await client.call_tool("added", {"word": "hello"})
        equal(result.is_error or False, False, f"isError of {text(result)}")
    async with check(f"{era}: a changed file serves its new schema, and is told"):
        heard.forget()
        since = drop(directory, "added_changed.yaml", "added.yaml")
        await heard.within(LIVE_WITHIN_S)
        added = next(t for t in (await client.list_tools()).tools if t.name == "added")
        contains(str(added.input_schema), "language")
        equal(time.monotonic() - since < LIVE_WITHIN_S, True, "in time")
    async with check(f"{era}: a broken file is quarantined, its last good version serves on"):
        since = drop(directory, "broken.yaml", "added.yaml")
        drop(directory, "broken.yaml", "broken.yaml")
        while True:
            listing = (await client.call_tool("list_workflows", {})).structured_content
            found = {entry["name"]: entry for entry in listing["quarantined"]}
            if {"added", "broken"} <= found.keys():
                break
            if time.monotonic() - since > LIVE_WITHIN_S:
                raise AssertionError(f"not quarantined in time: {listing['quarantined']}")
            await anyio.sleep(0.02)
        equal(found["added"]["serving_previous"], True, "serving_previous")
        equal(found["broken"]["serving_previous"], False, "serving_previous")
        contains(" ".join(found["broken"]["diagnostics"]), "broken.yaml:10", "frist", "did you mean")
        result = await client.call_tool("added", {"word": "hello", "language": "French"})
        equal(result.is_error or False, False, f"isError of {text(result)}")
        result = await client.call_tool("broken", {"word": "hello"})
        equal(result.is_error, True, "isError")
        contains(text(result), "broken.yaml", "frist")
    async with check(f"{era}: a removed file is no tool any more, and told"):
        heard.forget()
        (directory / "workflows" / "broken.yaml").unlink()
        (directory / "workflows" / "added.yaml").unlink()
        await listed_within("added", False, time.monotonic())
        await heard.within(LIVE_WITHIN_S)
        equal(await names(client), ["quick", "slow", *FIXED], "tools")


async def session(era: str) -> None:
    heard = Heard()
    with folder() as directory:
        server = command(directory)
        parameters = StdioServerParameters(command=server[0], args=server[1:], env=environment(directory))
        mode = {"modern": "auto", "legacy": "legacy"}[era]
        async with Client(
            parameters, mode=mode, message_handler=heard.on_message, read_timeout_seconds=60
        ) as client:
            await basics(client, era)
            await cancelling(client, era)
            if era == "legacy":
                await reloading(client, era, directory, heard)
                return
            async with client.listen(tools_list_changed=True) as changes:
                async with anyio.create_task_group() as listening:

                    async def relay() -> None:
                        async for event in changes:
                            if isinstance(event, ToolsListChanged):
                                heard.send.send_nowait(time.monotonic())

                    listening.start_soon(relay)
                    await reloading(client, era, directory, heard)
                    listening.cancel_scope.cancel()


async def main() -> None:
    for era in ("modern", "legacy"):
        try:
            with anyio.fail_after(180):
                await session(era)
        except Exception as error:  # a session that breaks off is a result too
            report(f"{era}: the session holds", error)


anyio.run(main)
