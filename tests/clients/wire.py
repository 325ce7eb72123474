"""What no SDK shows: the bytes on standard output, and how the process ends."""

from __future__ import annotations

import json
import queue
import signal
import socket
import subprocess
import threading
import time

from harness import check_now, command, contains, environment, equal, folder

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "wire", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(number: int, tool: str, arguments: dict) -> dict:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": {"progressToken": f"token-{number}"}},
    }


class Server:
    """The process, with every line of its standard output kept."""

    def __init__(self, directory, hello: bool = True, sockets: bool = False) -> None:
        # Node gives its children sockets where Python gives them pipes.
        ours, theirs = socket.socketpair() if sockets else (None, None)
        self.process = subprocess.Popen(
            command(directory),
            env=environment(directory),
            cwd="/",
            stdin=theirs or subprocess.PIPE,
            stdout=theirs or subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.stdin = ours.makefile("wb") if ours else self.process.stdin
        self.stdout = ours.makefile("rb") if ours else self.process.stdout
        if theirs:
            theirs.close()
        self.lines: list[bytes] = []
        self.messages: queue.Queue[dict | None] = queue.Queue()
        self.waiting: list[dict] = []
        self.stderr = b""
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_stderr, daemon=True).start()
        if hello:
            self.send(HELLO)
            self.answer(0)
            self.send(INITIALIZED)

    def _read(self) -> None:
        try:
            for line in self.stdout:
                self.lines.append(line)
                try:
                    self.messages.put(json.loads(line))
                except ValueError:
                    pass  # judged by `only_json_rpc`
        except OSError:
            pass  # a socket whose other end is gone
        self.messages.put(None)

    def _read_stderr(self) -> None:
        self.stderr = self.process.stderr.read()

    def send(self, message: dict) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def raw(self, line: bytes) -> None:
        self.stdin.write(line)
        self.stdin.flush()

    def next(self, wanted, timeout: float = 15.0) -> dict:
        until = time.monotonic() + timeout
        for message in self.waiting:
            if wanted(message):
                self.waiting.remove(message)
                return message
        while True:
            try:
                message = self.messages.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"nothing of that kind within {timeout} s; stderr: {self.stderr[-500:]!r}")
            if message is None:
                raise AssertionError("standard output ended first")
            if wanted(message):
                return message
            self.waiting.append(message)

    def answer(self, number: int, timeout: float = 15.0) -> dict:
        return self.next(lambda m: m.get("id") == number and "method" not in m, timeout)

    def under_way(self) -> None:
        """Until a call has told its first progress."""
        self.next(lambda m: m.get("method") == "notifications/progress")

    def ended(self, timeout: float) -> int:
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"still there after {timeout} s") from None

    def only_json_rpc(self) -> None:
        equal(len(self.lines) > 0, True, "some output")
        for line in self.lines:
            message = json.loads(line)
            equal(message.get("jsonrpc"), "2.0", f"jsonrpc of {line[:200]!r}")
            equal("method" in message or "result" in message or "error" in message, True, f"{line[:200]!r}")

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def text_of(message: dict) -> str:
    return " ".join(block["text"] for block in message["result"]["content"])


def end_of_input() -> None:
    with check_now("end of input in a short call: it is answered, and the process exits"):
        with folder() as directory, Server(directory) as server:
            server.send(call(1, "quick", {"text": "Words."}))
            server.stdin.close()
            began = time.monotonic()
            answer = server.answer(1, 6)
            # One call in a hundred of a simulated model takes longer than the drain.
            if answer["result"].get("isError"):
                contains(text_of(answer), "shutting down", "run_")
            else:
                contains(text_of(answer), "summary")
            equal(server.ended(6), 0, "exit code")
            equal(time.monotonic() - began < 6, True, "bounded")
            server.only_json_rpc()
    with check_now("end of input in a long call: it is answered within the drain, and the process exits"):
        with folder() as directory, Server(directory) as server:
            server.send(call(1, "slow", {"text": "Words."}))
            server.under_way()
            server.stdin.close()
            answer = server.answer(1, 7)
            if answer["result"].get("isError"):
                contains(text_of(answer), "shutting down", "run_")
            equal(server.ended(3), 0, "exit code")
            server.only_json_rpc()
    with check_now("end of input before the first message: the process exits"):
        with folder() as directory, Server(directory, hello=False) as server:
            server.stdin.close()
            equal(server.ended(3), 0, "exit code")
    with check_now("end of input with nothing in flight: the process exits at once"):
        with folder() as directory, Server(directory) as server:
            server.stdin.close()
            equal(server.ended(2), 0, "exit code")


def signals() -> None:
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name)
        with check_now(f"{name} in a call: it is answered within the drain, and the process exits"):
            with folder() as directory, Server(directory) as server:
                server.send(call(1, "slow", {"text": f"{name}."}))
                server.under_way()
                server.process.send_signal(number)
                answer = server.answer(1, 7)
                if answer["result"].get("isError"):
                    contains(text_of(answer), "shutting down", "run_")
                # 0, or the shell's way of naming a signal; never death by the signal itself.
                equal(server.ended(3) in (0, 128 + number), True, f"exit code {server.process.returncode}")
                server.only_json_rpc()
    for sockets in (False, True):
        kind = "a socket" if sockets else "a pipe"
        with check_now(f"SIGTERM with nothing in flight and {kind} for input: the process exits at once"):
            with folder() as directory, Server(directory, sockets=sockets) as server:
                server.process.send_signal(signal.SIGTERM)
                equal(server.ended(2) in (0, 143), True, f"exit code {server.process.returncode}")


def standard_output() -> None:
    with check_now("every line of standard output is JSON-RPC, even when everything goes wrong"):
        with folder() as directory, Server(directory) as server:
            server.raw(b"this is not JSON\n")
            server.raw(b"\xff\xfe\x00 nor UTF-8\n")
            server.raw(b'{"jsonrpc": "2.0", "id": 90, "method": "no/such/method"}\n')
            server.send(call(1, "quick", {"text": 1}))
            server.send(call(2, "nothing", {}))
            server.send(call(3, "quick", {"text": "Words."}))
            server.send({"jsonrpc": "2.0", "id": 4, "method": "tools/list"})
            server.send(call(5, "quick", ["no object"]))
            server.send(call(6, "quick", {"text": "long " * 2_000_000}))
            (directory / "workflows" / "broken.yaml").write_bytes(b"description: [\xff\n")
            for number in (1, 2, 3, 4, 6):
                server.answer(number)
            answer = server.answer(5)
            equal(answer["result"]["isError"], True, "isError")
            contains(text_of(answer), "must be an object")
            equal(server.next(lambda m: m.get("id") == 90)["error"]["code"], -32601, "error code")
            server.stdin.close()
            equal(server.ended(6), 0, "exit code")
            server.only_json_rpc()
    with check_now("a cancelled request gets no answer"):
        with folder() as directory, Server(directory) as server:
            server.send(call(1, "slow", {"text": "Words."}))
            server.under_way()
            cancel = {"requestId": 1, "reason": "test"}
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
            server.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
            server.answer(2)
            server.stdin.close()
            equal(server.ended(3), 0, "exit code")
            answered = [json.loads(line).get("id") for line in server.lines]
            equal(1 in answered, False, "an answer to the cancelled request")
    with check_now("prompts and answers are not in the log"):
        with folder() as directory, Server(directory) as server:
            server.send(call(1, "quick", {"text": "the word xylograph"}))
            server.answer(1)
            server.stdin.close()
            server.ended(6)
            equal(b"xylograph" in server.stderr, False, "the input is in the log")


end_of_input()
signals()
standard_output()
