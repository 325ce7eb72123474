"""Checks `punctual` against a small real model. Shapes and counts are asserted, never what the model says.

usage: checks.py BINARY BASE_URL WORK_FOLDER
Prints one line a check, and `N passed, M failed` last. Only the standard library is used."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
LIMIT = 300  # seconds for one command: a guard against hanging, measured by nothing
WINDOW = 1024
SENTENCE = "Terrible service, I want my money back."

binary, base, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
passed = failed = 0


def check(name, good, seen=""):
    global passed, failed
    if good:
        passed += 1
        print(f"ok   {name}", flush=True)
    else:
        failed += 1
        print(f"FAIL {name}: {seen}", flush=True)


def prepare():
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(HERE / "workflows", work / "workflows")
    path = {"provider": "local", "model": "smollm2-135m", "price": {"in": 0, "out": 0}}
    # JSON is YAML. `known` says how large the window is, `small` leaves that to the server.
    configuration = {
        "providers": {
            "local": {
                "kind": "llama_cpp",
                "base_url": f"{base}/v1",
                "limits": {"concurrent": 1},
            }
        },
        "models": {"small": {"paths": [path]}, "known": {"paths": [{**path, "context": WINDOW}]}},
    }
    (work / "punctual.yaml").write_text(json.dumps(configuration, indent=2))
    mood = (work / "workflows/mood.yaml").read_text()
    (work / "workflows/mood_known.yaml").write_text(mood.replace("model: small", "model: known"))


def environment():
    keep = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**keep, "XDG_STATE_HOME": str(work / "state"), "NO_PROXY": "127.0.0.1"}


def command(*arguments):
    return [binary, *arguments, "--dir", str(work)]


def run(workflow, argument, name="sentence"):
    """The exit code, the report, and what went to stderr."""
    values = json.dumps({name: argument})
    done = subprocess.run(
        command("run", workflow, "--input", "-", "--json", "--fresh"),
        input=values, capture_output=True, text=True, timeout=LIMIT, env=environment(),
    )
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except json.JSONDecodeError:
        return done.returncode, {}, f"no report on stdout: {done.stdout[:300]!r} {done.stderr[-600:]!r}"


def slot_is_busy():
    with urllib.request.urlopen(f"{base}/slots", timeout=60) as answer:
        return any(slot["is_processing"] for slot in json.load(answer))


def eventually(condition, polls=600):
    for _ in range(polls):
        if condition():
            return True
        time.sleep(0.1)
    return False


def loads_clean():
    done = subprocess.run(
        command("check", "--format", "json"), capture_output=True, text=True, timeout=LIMIT, env=environment()
    )
    check("check finds no error in the configuration and the workflows", done.returncode == 0,
          (done.stdout + done.stderr)[:600])


def has_the_shape(output):
    return (
        isinstance(output, dict)
        and list(output) == ["label", "text", "follow_up"]
        and output["label"] in ("positive", "negative")
        and isinstance(output["text"], str)
        and len(output["text"]) <= 80
        and isinstance(output["follow_up"], bool)
    )


def two_steps():
    code, report, noise = run("mood", SENTENCE)
    seen = noise if not report else json.dumps(report.get("failure") or report.get("output"))
    check("two steps on a real model are delivered", (code, report.get("outcome")) == (0, "delivered"), seen)
    check("the output fits its schema", has_the_shape(report.get("output")), seen)
    check("no answer is called simulated", report.get("simulated") is False, report.get("simulated"))
    steps = report.get("steps", [])
    check("both steps are in the report", [s["step"] for s in steps] == ["judge", "answer"], steps)
    accepted = [a for s in steps for a in s["attempts"] if a["end"] == "accepted"]
    counted = [a["tokens"]["in"] > 0 and a["tokens"]["out"] > 0 for a in accepted]
    check("each step has tokens in and out", counted == [True, True], accepted)
    total = report.get("tokens", {})
    everything = [a["tokens"] for s in steps for a in s["attempts"]]
    check("the run's tokens are the sum of its attempts'",
          total == {side: sum(t[side] for t in everything) for side in ("in", "out")}, (total, everything))
    check("usage was counted by the server, not estimated", report.get("cost_estimated") is False,
          (report.get("cost_estimated"), total))
    first = [a["first_token_ms"] for a in accepted]
    check("answers stream: a first token comes before the end",
          bool(first) and all(f is not None and f <= a["ended_ms"] for f, a in zip(first, accepted)), accepted)


def overflow():
    for workflow, how in (("mood", "as the server says"), ("mood_known", "as the configuration says")):
        code, report, noise = run(workflow, "far too long " * 1500)
        failure = report.get("failure") or {}
        check(f"a prompt beyond the window fails as context_overflow, {how}",
              (code, failure.get("class")) == (1, "context_overflow"), (code, failure, noise[-300:]))
        message = failure.get("message", "")
        check(f"its message speaks of the window, {how}",
              any(word in message.lower() for word in ("context", "window")), message)
        attempts = [a for s in report.get("steps", []) for a in s["attempts"]]
        check(f"the same prompt is not sent twice, {how}", bool(report) and len(attempts) <= 1, attempts)


def cancellation():
    running = subprocess.Popen(
        command("run", "long", "--set", "topic=a river", "--json", "--fresh"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )
    began = eventually(lambda: running.poll() is not None or slot_is_busy())
    check("a long generation occupies the only slot", began and running.poll() is None, running.poll())
    running.send_signal(signal.SIGINT)
    try:
        out, err = running.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        running.kill()
        out, err = running.communicate()
    check("an interrupted run exits with 130", running.returncode == 130, (running.returncode, err[-300:]))
    check("the server's slot is free again", eventually(lambda: not slot_is_busy()), "still processing")
    if out.strip():
        outcome = json.loads(out).get("outcome")
        check("its report says cancelled", outcome == "cancelled", outcome)
    code, report, noise = run("mood", "I love it.")
    check("the next call gets through", (code, report.get("outcome")) == (0, "delivered"),
          (code, report.get("failure"), noise[-300:]))


class Client:
    """The least that is an MCP client: JSON-RPC, one message a line."""

    def __init__(self):
        self.stderr = open(work / "serve.log", "w")
        self.server = subprocess.Popen(
            command("serve"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr,
            text=True, env=environment(),
        )
        self.lines, self.last = [], 0
        self.guard = threading.Timer(LIMIT, self.server.kill)
        self.guard.daemon = True
        self.guard.start()

    def send(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.server.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.send({"id": self.last, "method": method, "params": params})
        for line in self.server.stdout:
            self.lines.append(line)
            message = json.loads(line)
            if message.get("id") == self.last and "method" not in message:
                return message
        return {}

    def close(self):
        self.server.stdin.close()
        self.lines.extend(self.server.stdout)
        code = self.server.wait(timeout=60)
        self.guard.cancel()
        self.stderr.close()
        return code


def is_rpc(line):
    try:
        return json.loads(line).get("jsonrpc") == "2.0"
    except (json.JSONDecodeError, AttributeError):
        return False


def over_mcp():
    client = Client()
    about = {"protocolVersion": "2025-11-25", "capabilities": {},
             "clientInfo": {"name": "real-model-checks", "version": "1"}}
    hello = client.ask("initialize", about).get("result", {})
    check("serve speaks MCP with a real model behind it", "serverInfo" in hello, hello)
    client.send({"method": "notifications/initialized"})
    tools = client.ask("tools/list", {}).get("result", {}).get("tools", [])
    check("the workflow is a tool", "mood" in [tool["name"] for tool in tools], [t["name"] for t in tools])
    call = {"name": "mood", "arguments": {"sentence": "What a wonderful day."}}
    result = client.ask("tools/call", call).get("result", {})
    content = result.get("structuredContent")
    check("a call through MCP gives structured content of the schema",
          has_the_shape(content) and not result.get("isError"), result)
    texts = [part["text"] for part in result.get("content", []) if part.get("type") == "text"]
    check("and the same as text", bool(texts) and json.loads(texts[0]) == content, texts)
    meta = result.get("_meta", {}).get("punctual/run", {})
    check("and what the run was", meta.get("outcome") == "delivered" and meta.get("simulated") is False, meta)
    wrong = client.ask("tools/call", {"name": "mood", "arguments": {"sentence": 42}}).get("result", {})
    text = wrong.get("content", [{}])[0].get("text", "")
    check("wrong arguments are refused with their place", wrong.get("isError") is True and "/sentence" in text, wrong)
    code = client.close()
    check("serve ends in order when its client leaves", code == 0, code)
    stray = [line for line in client.lines if not is_rpc(line)]
    check("every line on stdout is JSON-RPC", bool(client.lines) and not stray, stray[:2])


def main():
    prepare()
    for part in (loads_clean, two_steps, overflow, cancellation, over_mcp):
        try:
            part()
        except Exception as error:  # a broken part must not hide the others
            check(f"{part.__name__} runs to its end", False, repr(error))
    print(f"{passed} passed, {failed} failed", flush=True)
    return 0 if passed and not failed else 1


sys.exit(main())
