"""Time to a valid answer under faults of the first of two targets: LiteLLM, TensorZero and punctual side by side.

    benches/peers/run.sh [target/release/punctual]

A caller waits ten seconds. Its answer is valid where the text it was handed, as a whole, is JSON of the schema it
asked for. Each try is a process of its own; faults that are waited for are met all at once, the others in turn."""

import asyncio
import json
import os
import statistics
import sys
import time
from importlib.metadata import version

import jsonschema

from clients import CALL_S, SCHEMA, LiteLLM, Punctual, TensorZero
from upstream import Upstream

QUICK = ["none", "429", "cut", "closed", "garbage"]
WAITED = ["hang", "stalled", "slow"]
FAULTS = QUICK + WAITED


def valid(text: str) -> bool:
    try:
        jsonschema.validate(json.loads(text), SCHEMA)
    except (ValueError, jsonschema.ValidationError):
        return False
    return True


async def one(client, fault: str) -> tuple[float, str]:
    """Seconds, and what was wrong with the answer; nothing where it is valid."""
    texts: list[str] = []
    began = time.monotonic()
    error = None
    try:
        async with asyncio.timeout(CALL_S):
            await client.ask(fault, texts.append)
    except TimeoutError:
        error = "nothing" if not "".join(texts) else "no end"
    except Exception as failure:  # whatever a client raises is its answer
        error = type(failure).__name__
    seconds = time.monotonic() - began
    text = "".join(texts)
    if error is None and valid(text):
        return seconds, ""
    if error is None:
        return seconds, "invalid text" if text else "empty text"
    return seconds, f"{error} after a part" if text and error != "no end" else error


async def child(name: str, base: str, program: str) -> None:
    """One try, in a process of its own: an embedded gateway that still waits for its streams cannot be closed."""
    async with clients(program)[name] as client:
        client.set_up(base, FAULTS)
        if hasattr(client, "open"):
            await client.open()
        await one(client, "none")  # connections and imports that the first call would pay for
        answers = [await one(client, fault) for fault in QUICK]
        answers += await asyncio.gather(*(one(client, fault) for fault in WAITED))
    print("ANSWERS " + json.dumps(dict(zip(FAULTS, answers))), flush=True)
    os._exit(0)


def clients(program: str) -> dict:
    each = [LiteLLM(True), LiteLLM(False), TensorZero(True), TensorZero(False), Punctual(program)]
    return {client.name: client for client in each}


async def tried(name: str, base: str, program: str) -> dict[str, tuple[float, str]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--one", name, base, program,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        async with asyncio.timeout(120):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        sys.exit(f"{name}: not done after 120 s")
    lines = said.decode(errors="replace").splitlines()
    answers = [line for line in lines if line.startswith("ANSWERS ")]
    if not answers:
        sys.exit("\n".join([f"{name} gave no answers:", *lines[-20:]]))
    return json.loads(answers[-1].removeprefix("ANSWERS "))


def cell(tries: list[tuple[float, str]]) -> str:
    good = [seconds for seconds, wrong in tries if not wrong]
    if len(good) == len(tries):
        return f"{statistics.median(good):.2f} s"
    wrong = sorted({wrong for _, wrong in tries if wrong})
    at = statistics.median(seconds for seconds, wrong in tries if wrong)
    share = f", {len(good)} of {len(tries)} valid" if good else ""
    return f"{' or '.join(wrong)} at {at:.2f} s{share}"


async def main() -> None:
    program, tries = sys.argv[1], int(sys.argv[2])
    upstream = Upstream()
    base = await upstream.start()
    names = list(clients(program))
    results = []
    for name in names:
        results.append([await tried(name, base, program) for _ in range(tries)])
        print(f"{name}: done", file=sys.stderr, flush=True)
    print(f"LiteLLM {version('litellm')}, TensorZero {version('tensorzero')}; {tries} tries each, medians")
    print("| fault of the first target | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for fault in FAULTS:
        cells = [cell([answers[fault] for answers in tries]) for tries in results]
        print(f"| {fault} | " + " | ".join(cells) + " |")
    short = [fault for fault in FAULTS if any(wrong for _, wrong in (a[fault] for a in results[-1]))]
    if short:
        sys.exit(f"punctual gave no valid answer: {', '.join(short)}")


if sys.argv[1] == "--one":
    asyncio.run(child(*sys.argv[2:]))
else:
    asyncio.run(main())
