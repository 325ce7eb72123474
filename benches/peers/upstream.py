"""An OpenAI-compatible server on loopback that misbehaves by the name of the model it is asked for.

    none      answers
    hang      takes the request and says nothing
    429       refuses, to come back in 7 s
    stalled   says five pieces (of the body, where no stream is asked for: a half) and then nothing more
    slow      says a piece every 600 ms, 12 s in all
    cut       says as much as `stalled`, then the connection breaks off
    closed    the same, but closed in good order: no word on how the answer ended
    garbage   answers with broken JSON
    ok        answers; the second target
"""

import asyncio
import json
from contextlib import suppress

ANSWER = json.dumps({"city": "Paris", "country": "France", "since": 987, "river": "Seine"})
GARBAGE = '{"city": "Paris", "country: France,, ]'
PIECES = 20
SLOW_S = 0.6


class Upstream:
    """The server. `asked` counts requests by model."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.server: asyncio.Server | None = None

    async def start(self) -> str:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self.one(reader, writer):
                pass
        writer.close()

    async def one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answers one request; whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
        request = json.loads(await reader.readexactly(length) or b"{}")
        model, stream = request.get("model", ""), bool(request.get("stream"))
        self.asked[model] = self.asked.get(model, 0) + 1
        if model == "hang":
            await reader.read()
            return False
        if model == "429":
            error = {"message": "Rate limit reached.", "type": "requests", "param": None, "code": "rate_limit_exceeded"}
            body = json.dumps({"error": error})
            writer.write(f"HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
            await writer.drain()
            return True
        text = GARBAGE if model == "garbage" else ANSWER
        if stream:
            return await self.streamed(model, text, bool(request.get("stream_options")), reader, writer)
        return await self.whole(model, text, reader, writer)

    async def streamed(self, model, text, counted, reader, writer) -> bool:
        def send(text: str) -> None:
            writer.write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())

        def chunk(delta: dict, finish=None) -> str:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return f"data: {json.dumps(part(model) | {'choices': [choice]})}\n\n"

        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        send(chunk({"role": "assistant", "content": ""}))
        size = -(-len(text) // PIECES)
        for at, start in enumerate(range(0, len(text), size)):
            if at == 5 and model in ("stalled", "cut", "closed"):
                return await self.ends(model, reader, writer)
            send(chunk({"content": text[start : start + size]}))
            await writer.drain()
            await asyncio.sleep(SLOW_S if model == "slow" else 0.002)
        send(chunk({}, "stop"))
        if counted:
            send(f"data: {json.dumps(part(model) | {'choices': [], 'usage': USAGE})}\n\n")
        send("data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def whole(self, model, text, reader, writer) -> bool:
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        reply = part(model, "chat.completion") | {"choices": [choice], "usage": USAGE}
        body = json.dumps(reply).encode()
        # Where the body is closed in good order, it must not say how long it would have been.
        framing = "connection: close" if model == "closed" else f"content-length: {len(body)}"
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{framing}\r\n\r\n".encode())
        if model == "slow":
            size = -(-len(body) // PIECES)
            for start in range(0, len(body), size):
                writer.write(body[start : start + size])
                await writer.drain()
                await asyncio.sleep(SLOW_S)
            return True
        if model in ("stalled", "cut", "closed"):
            writer.write(body[: len(body) // 2])
            await writer.drain()
            if model == "stalled":
                await reader.read()
            return False
        writer.write(body)
        await writer.drain()
        return True

    async def ends(self, model, reader, writer) -> bool:
        await writer.drain()
        if model == "stalled":
            await reader.read()
        if model == "closed":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        return model == "closed"


USAGE = {"prompt_tokens": 40, "completion_tokens": 20, "total_tokens": 60}


def part(model: str, kind: str = "chat.completion.chunk") -> dict:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": model}
