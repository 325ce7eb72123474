"""The server through MCP Inspector's command line, with its strict reading of schemas."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from harness import check_now, command, contains, environment, equal, folder

NODE_BIN = sys.argv[2]


def inspector(directory, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = environment(directory)
    env["PATH"] = f"{NODE_BIN}:{os.environ.get('PATH', '')}"
    return subprocess.run(
        [f"{NODE_BIN}/mcp-inspector", "--cli", *command(directory), *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )


def result(done: subprocess.CompletedProcess[str]) -> dict:
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stdout[-400:]} {done.stderr[-400:]}")
    return json.loads(done.stdout[done.stdout.index("{") :])


with folder() as directory:
    for era in ("legacy", "modern"):
        how = ("--protocol-era", era)
        with check_now(f"Inspector, {era}: every schema is portable (--strict)"):
            listed = result(inspector(directory, *how, "--method", "tools/list", "--strict"))
            equal([tool["name"] for tool in listed["tools"]][:2], ["quick", "slow"], "tools")
        with check_now(f"Inspector, {era}: a call delivers"):
            called = result(
                inspector(
                    directory, *how, "--method", "tools/call", "--tool-name", "quick", "--tool-arg", "text=Some words."
                )
            )
            contains(str(called["structuredContent"]), "summary")
    with check_now("Inspector: wrong arguments are shown as the tool's own error"):
        done = inspector(
            directory, "--method", "tools/call", "--tool-name", "get_run", "--tool-arg", "run_id=nonsense"
        )
        contains(done.stdout + done.stderr, "There is no run 'nonsense'")
