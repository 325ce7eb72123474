"""What `punctual install` writes, started the way each client would start it."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib

from harness import BINARY, check_now, contains, environment, equal, folder

HELLO = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "claude-ai", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]
PLACES = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
}
OTHERS = {
    "json": '{\n\t"theirs": {"a": [1, 2]},\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t}\n}\n',
    "toml": '# theirs\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "x" # as it is\n',
}
KEY = "TEST_API_KEY"


def install(directory, client: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    # A relative folder, named from where it is: the entry must hold from everywhere.
    line = [BINARY, "install", client, "--dir", directory.name, "--env", KEY, *arguments]
    env = environment(directory) | {KEY: "sk-secret"}
    return subprocess.run(line, env=env, cwd=directory.parent, capture_output=True, text=True, timeout=60)


def entry(path) -> dict:
    text = path.read_text()
    if path.suffix == ".toml":
        return tomllib.loads(text)["mcp_servers"]["punctual"]
    root = json.loads(text)
    return root.get("mcpServers", {}).get("punctual") or root["servers"]["punctual"]


def expanded(value: str) -> str:
    """What the clients that know references make of them; VS Code asks."""
    return re.sub(r"\$\{(?:env:|input:punctual-)?(\w+)(?::-)?\}", lambda m: {KEY: "sk-secret"}[m[1]], value)


def tools(entry: dict, home) -> list[str]:
    """Starts the entry as a client does: its own folder, next to no environment."""
    passed = {name: "sk-secret" for name in entry.get("env_vars", [])}
    passed |= {name: expanded(value) for name, value in entry.get("env", {}).items()}
    env = {"HOME": str(home), "PATH": "/usr/bin:/bin"} | passed
    lines = "".join(json.dumps(message) + "\n" for message in HELLO)
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=lines, env=env, cwd="/", capture_output=True, text=True, timeout=60,
    )
    equal(done.returncode, 0, f"exit code; {done.stderr[-300:]}")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    listed = next(answer for answer in answers if answer.get("id") == 2)
    return [tool["name"] for tool in listed["result"]["tools"]]


for client, place in PLACES.items():
    with check_now(f"install {client}: what is written starts the server, and no secret is in it"):
        with folder() as directory:
            home = directory.parent
            path = home / place
            theirs = OTHERS[path.suffix.lstrip(".")]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(theirs)
            done = install(directory, client)
            equal(done.returncode, 0, f"exit code; {done.stderr}")
            contains(done.stdout, "'punctual' is added")
            written = path.read_text()
            equal("sk-secret" in written, False, f"a secret in {written}")
            left = iter(written)
            equal(all(character in left for character in theirs), True, "every byte of theirs, in order")
            found = entry(path)
            equal(KEY in json.dumps(found), client != "claude-desktop", "the key's name in the entry")
            equal(tools(found, home)[:2], ["quick", "slow"], "tools")
            again = install(directory, client)
            contains(again.stdout, "nothing changed")
            equal(path.read_text(), written, "the file after a second time")
with check_now("install claude-desktop: a key that cannot reach the server is said, with what to do"):
    with folder() as directory:
        done = install(directory, "claude-desktop")
        contains(done.stderr, KEY, "will not reach the server", "api_key: {file:")
