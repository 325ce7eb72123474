"""The three, set up as alike as each can say it: two targets in order, one second to the first token and between
tokens, three seconds in all. Each gives the text it hands to its caller."""

import asyncio
import json
import os
import tempfile
from pathlib import Path

FIRST_S, IDLE_S, TOTAL_S, CALL_S = 1, 1, 3, 10
QUESTION = "Which city is the capital of France? Answer with one JSON object."
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "country": {"type": "string"},
        "since": {"type": "integer"},
        "river": {"type": "string"},
    },
    "required": ["city", "country", "since", "river"],
    "additionalProperties": False,
}


class LiteLLM:
    """LiteLLM's `Router` in this process, with its own fallbacks and timeouts, and no retries."""

    def __init__(self, stream: bool) -> None:
        self.stream = stream
        self.name = f"LiteLLM, {'stream' if stream else 'whole'}"

    async def __aenter__(self):
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        import litellm

        litellm.suppress_debug_info = True
        litellm.set_verbose = False
        # It can validate an answer that came whole; the router then raises, or falls back.
        litellm.enable_json_schema_validation = True
        self.litellm = litellm
        return self

    async def __aexit__(self, *_):
        pass

    def set_up(self, base: str, faults: list[str]) -> None:
        def deployment(group: str, model: str) -> dict:
            params = {"model": f"openai/{model}", "api_base": base, "api_key": "sk-none", "max_retries": 0}
            return {"model_name": group, "litellm_params": params | {"timeout": TOTAL_S, "stream_timeout": FIRST_S}}

        models = [deployment(f"main-{fault}", fault) for fault in faults] + [deployment("second", "ok")]
        fallbacks = [{f"main-{fault}": ["second"]} for fault in faults]
        self.router = self.litellm.Router(model_list=models, fallbacks=fallbacks, num_retries=0)

    async def ask(self, fault: str, told) -> None:
        shape = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA}}
        messages = [{"role": "user", "content": QUESTION}]
        reply = await self.router.acompletion(
            model=f"main-{fault}", messages=messages, response_format=shape, stream=self.stream
        )
        if not self.stream:
            told(reply.choices[0].message.content or "")
            return
        async for chunk in reply:
            told((chunk.choices[0].delta.content if chunk.choices else "") or "")


class TensorZero:
    """TensorZero's gateway, embedded: a JSON function a fault, whose model routes to two providers."""

    def __init__(self, stream: bool) -> None:
        self.stream = stream
        self.name = f"TensorZero, {'stream' if stream else 'whole'}"

    async def __aenter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="punctual-peers-")
        return self

    async def __aexit__(self, *_):
        self.folder.cleanup()

    def set_up(self, base: str, faults: list[str]) -> None:
        self.base, self.faults, self.gateway = base, faults, None

    async def open(self) -> None:
        from tensorzero import AsyncTensorZeroGateway

        folder = Path(self.folder.name)
        (folder / "answer.json").write_text(json.dumps(SCHEMA))
        limits = (
            f"timeouts = {{non_streaming.total_ms = {1000 * TOTAL_S}, streaming.ttft_ms = {1000 * FIRST_S}, "
            f"streaming.total_ms = {1000 * TOTAL_S}}}\n"
        )
        text = "[gateway]\nobservability.enabled = false\n\n"
        for fault in self.faults:
            text += f'[models."main-{fault}"]\nrouting = ["first", "second"]\n\n'
            for provider, model in (("first", fault), ("second", "ok")):
                text += f'[models."main-{fault}".providers.{provider}]\ntype = "openai"\nmodel_name = "{model}"\n'
                text += f'api_base = "{self.base}/"\napi_key_location = "none"\n{limits}\n'
            text += f'[functions."ask-{fault}"]\ntype = "json"\noutput_schema = "answer.json"\n\n'
            text += f'[functions."ask-{fault}".variants.only]\ntype = "chat_completion"\nmodel = "main-{fault}"\n'
            text += 'json_mode = "strict"\n\n'
        (folder / "tensorzero.toml").write_text(text)
        self.gateway = await AsyncTensorZeroGateway.build_embedded(config_file=str(folder / "tensorzero.toml"))

    async def ask(self, fault: str, told) -> None:
        messages = {"messages": [{"role": "user", "content": QUESTION}]}
        reply = await self.gateway.inference(function_name=f"ask-{fault}", input=messages, stream=self.stream)
        if not self.stream:
            told(reply.output.raw or "")
            return
        async for chunk in reply:
            told(chunk.raw or "")


class Punctual:
    """`punctual serve` over stdio: a workflow of one step a fault."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.name = "punctual"

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        if self.process.returncode is None:
            self.process.stdin.close()
            await self.process.wait()
        self.reading.cancel()
        self.folder.cleanup()

    def set_up(self, base: str, faults: list[str]) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="punctual-peers-")
        folder = Path(self.folder.name)
        (folder / "workflows").mkdir()
        # A provider a fault: what one fault closes is not to help the others.
        providers = "".join(
            f"  {kind}_{fault}: {{kind: openai_compatible, base_url: '{base}'}}\n"
            for fault in faults
            for kind in ("first", "second")
        )
        models = "".join(
            f"  main_{fault}:\n    paths:\n"
            f"      - {{provider: first_{fault}, model: '{fault}', can: [json_schema]}}\n"
            f"      - {{provider: second_{fault}, model: ok, can: [json_schema]}}\n"
            for fault in faults
        )
        (folder / "punctual.yaml").write_text(f"providers:\n{providers}models:\n{models}")
        for fault in faults:
            (folder / "workflows" / f"ask_{fault}.yaml").write_text(
                f"description: Names a capital.\ndeadline: {CALL_S}s\ninput: {{}}\nsteps:\n  answer:\n"
                f"    model: main_{fault}\n    prompt: {QUESTION}\n"
                "    output: {city: string, country: string, since: integer, river: string}\n    policy:\n"
                f"      cutoff: {{first_token: {FIRST_S}s, idle: {IDLE_S}s, total: {TOTAL_S}s}}\n"
            )

    async def open(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            self.program, "serve", "--dir", self.folder.name,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "XDG_STATE_HOME": self.folder.name},
        )  # fmt: skip
        self.waiting: dict[int, asyncio.Future] = {}
        self.reading = asyncio.create_task(self.read())
        info = {"name": "bench", "version": "0"}
        await self.call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info})
        self.send({"method": "notifications/initialized"})

    async def read(self) -> None:
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            if waiting := self.waiting.pop(message.get("id"), None):
                waiting.set_result(message)

    def send(self, message: dict) -> None:
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")

    async def call(self, method: str, params: dict) -> dict:
        number = getattr(self, "number", 0) + 1
        self.number = number
        self.waiting[number] = asyncio.get_running_loop().create_future()
        self.send({"id": number, "method": method, "params": params})
        reply = await self.waiting[number]
        if "error" in reply:
            raise RuntimeError(reply["error"]["message"])
        return reply["result"]

    async def ask(self, fault: str, told) -> None:
        result = await self.call("tools/call", {"name": f"ask_{fault}", "arguments": {}})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        told(json.dumps(result["structuredContent"]))
