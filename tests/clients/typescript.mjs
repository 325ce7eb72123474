// The server through both generations of the TypeScript SDK's client: 1.x, which most clients are built on, and 2.x.
import assert from 'node:assert/strict';
import { cpSync, copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [binary, modules] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(modules, 'package.json'));
const info = { name: 'typescript', version: '1' };
const fixed = ['list_workflows', 'run_workflow', 'get_run', 'cancel_run'];
const words = { text: 'Punctual answers before its deadline. It validates. It says what it cost.' };
const runId = /run_[0-9a-f]{16}/;
// A dropped file is live within a second; the rest is the client's own time, and its 300 ms debounce.
const liveWithinMs = 2000;

const generations = [
  {
    name: 'TypeScript 1.x',
    protocol: undefined, // it does not tell; 2025-11-25 is the newest it knows
    ...require('@modelcontextprotocol/sdk/client/index.js'),
    ...require('@modelcontextprotocol/sdk/client/stdio.js'),
    ...require('@modelcontextprotocol/sdk/validation/ajv'),
    call: (client, name, args, options, meta) =>
      client.callTool({ name, arguments: args, _meta: meta }, undefined, options),
  },
  {
    name: 'TypeScript 2.x',
    protocol: '2026-07-28',
    ...require('@modelcontextprotocol/client'),
    ...require('@modelcontextprotocol/client/stdio'),
    ...require('@modelcontextprotocol/client/validators/ajv'),
    call: (client, name, args, options, meta) => client.callTool({ name, arguments: args, _meta: meta }, options),
  },
];

async function check(name, body) {
  try {
    await body();
    console.log(`ok   ${name}`);
  } catch (error) {
    const place = /typescript\.mjs:(\d+)/.exec(error?.stack ?? '')?.[0] ?? '';
    console.log(`FAIL ${name}: ${String(error?.message ?? error).replace(/\s+/g, ' ').slice(0, 600)} (${place})`);
  }
}

function within(ms, promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function includes(text, ...parts) {
  for (const part of parts) assert.ok(text.includes(part), `${JSON.stringify(part)} is not in ${text}`);
}

const text = (result) => result.content.map((block) => block.text).join('\n');
const names = async (client) => (await client.listTools()).tools.map((tool) => tool.name);

// A connected client on a copy of the test's folder.
async function connected(generation, extra, body) {
  const root = mkdtempSync(join(tmpdir(), 'punctual-clients-'));
  const folder = join(root, 'folder');
  cpSync(join(here, 'folder'), folder, { recursive: true });
  mkdirSync(join(root, 'state'));
  const heard = [];
  let hear = () => {};
  const changed = () => new Promise((resolve) => { hear = resolve; });
  const client = new generation.Client(info, {
    versionNegotiation: { mode: 'auto' },
    listChanged: { tools: { onChanged: (error, tools) => { heard.push(tools); hear(error ?? tools); } } },
  });
  const transport = new generation.StdioClientTransport({
    command: binary,
    args: ['serve', '--dir', folder, ...extra],
    // What a desktop client passes on: next to nothing, and no key.
    env: { PATH: process.env.PATH ?? '', HOME: root, XDG_STATE_HOME: join(root, 'state') },
    cwd: '/',
    stderr: 'ignore',
  });
  try {
    await client.connect(transport);
    await body({ client, transport, folder, changed });
  } finally {
    await client.close();
    rmSync(root, { recursive: true, force: true });
  }
}

function drop(folder, source, name) {
  const target = join(folder, 'workflows', name);
  copyFileSync(join(here, 'dropped', source), `${target}.tmp`);
  renameSync(`${target}.tmp`, target);
}

// The id of a run, as soon as its first progress tells it.
function started() {
  let tell;
  const id = new Promise((resolve) => { tell = resolve; });
  return { id, onprogress: ({ message }) => tell(runId.exec(message ?? '')?.[0]) };
}

async function basics(generation, { client }) {
  const { name, call } = generation;
  await check(`${name}: the server introduces itself in the client's era`, () => {
    assert.equal(client.getServerVersion().name, 'punctual');
    includes(client.getInstructions() ?? '', 'get_run');
    assert.equal(client.getNegotiatedProtocolVersion?.(), generation.protocol);
  });
  await check(`${name}: tools are listed by name, fixed ones last`, async () => {
    assert.deepEqual(await names(client), ['quick', 'slow', ...fixed]);
  });
  await check(`${name}: the SDK's validator reads every output schema, and refuses what does not fit`, async () => {
    const validator = new generation.AjvJsonSchemaValidator();
    const { tools } = await client.listTools();
    for (const tool of tools.filter((one) => one.outputSchema)) {
      // The output of run_workflow is any workflow's.
      const open = tool.name === 'run_workflow';
      assert.equal(validator.getValidator(tool.outputSchema)({ nonsense: 1 }).valid, open, tool.name);
    }
    const quick = tools.find((tool) => tool.name === 'quick');
    assert.ok(quick.outputSchema && quick.annotations, 'quick has a schema and annotations');
    assert.equal(validator.getValidator(quick.outputSchema)({ summary: 'x' }).valid, true);
  });
  await check(`${name}: a call delivers structured content that the SDK has validated`, async () => {
    const result = await call(client, 'quick', words);
    assert.ok(!result.isError, text(result));
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    assert.equal(typeof result.structuredContent.summary, 'string');
    const facts = result._meta['punctual/run'];
    assert.equal(facts.outcome, 'delivered');
    assert.ok(facts.elapsed_ms < facts.deadline_ms);
  });
  await check(`${name}: the fixed tools' answers are valid too`, async () => {
    const listing = await call(client, 'list_workflows', {});
    assert.deepEqual(listing.structuredContent.workflows.map((one) => one.name), ['quick', 'slow']);
    const ran = await call(client, 'run_workflow', { workflow: 'quick', input: words, fresh: true });
    includes(JSON.stringify(ran.structuredContent), 'summary');
  });
  await check(`${name}: progress increases and tells the run`, async () => {
    const seen = [];
    await call(client, 'quick', { text: 'Other words.' }, { onprogress: (told) => seen.push(told) });
    assert.ok(seen.length > 0);
    const values = seen.map((told) => told.progress);
    assert.deepEqual(values, [...new Set(values)].sort((a, b) => a - b));
    assert.match(seen.at(-1).message, runId);
  });
  await check(`${name}: a run that fails is an error of the tool that says why`, async () => {
    const began = performance.now();
    const result = await call(client, 'slow', words, {}, { 'punctual/deadlineMs': 700 });
    assert.equal(result.isError, true);
    includes(text(result), 'deadline', 'run_');
    assert.equal(result.structuredContent, undefined);
    assert.ok(performance.now() - began < 1200, 'in time');
  });
  await check(`${name}: wrong arguments are an error of the tool with every pointer`, async () => {
    const result = await call(client, 'quick', { text: 3, lenght: 1 });
    assert.equal(result.isError, true);
    includes(text(result), '/text', 'lenght');
  });
}

async function cancelling(generation, { client }) {
  const { name, call } = generation;
  await check(`${name}: a call aborted while it runs cancels its run`, async () => {
    const abort = new AbortController();
    const { id, onprogress } = started();
    const answer = call(client, 'slow', { text: `abort ${name}` }, { signal: abort.signal, onprogress });
    answer.catch(() => {});
    const run = await within(5000, id, 'the first progress');
    abort.abort();
    await assert.rejects(answer);
    const ended = await call(client, 'get_run', { run_id: run, wait_s: 3 });
    assert.equal(ended.structuredContent.outcome, 'cancelled');
  });
  await check(`${name}: a call that the client gives up on is cancelled too`, async () => {
    const { id, onprogress } = started();
    const answer = call(client, 'slow', { text: `timeout ${name}` }, { timeout: 1500, onprogress });
    await assert.rejects(answer, /timed out/i);
    const ended = await call(client, 'get_run', { run_id: await within(1000, id, 'progress'), wait_s: 3 });
    assert.equal(ended.structuredContent.outcome, 'cancelled');
  });
}

async function reloading(generation, { client, folder, changed }) {
  const { name, call } = generation;
  await check(`${name}: a dropped file is told, listed and can be called`, async () => {
    const told = changed();
    drop(folder, 'added.yaml', 'added.yaml');
    const tools = await within(liveWithinMs, told, 'a changed list');
    assert.ok(Array.isArray(tools), String(tools));
    assert.ok(tools.some((tool) => tool.name === 'added'));
    const result = await call(client, 'added', { word: 'hello' });
    assert.ok(!result.isError, text(result));
  });
  await check(`${name}: a removed file is told and is no tool any more`, async () => {
    const told = changed();
    rmSync(join(folder, 'workflows', 'added.yaml'));
    await within(liveWithinMs, told, 'a changed list');
    assert.deepEqual(await names(client), ['quick', 'slow', ...fixed]);
  });
}

// At a tenth of the usual speed `slow` outlasts the 60 s after which the SDK gives a call up by itself.
async function handingOver(generation) {
  const { name, call } = generation;
  await check(`${name}: a call that outlasts the client is handed over, and get_run fetches it`, () =>
    connected(generation, ['--speed', '0.1'], async ({ client }) => {
      await client.listTools();
      const result = await call(client, 'slow', words);
      assert.equal(result.isError, true);
      includes(text(result), 'get_run');
      const run = runId.exec(text(result))[0];
      const running = await call(client, 'get_run', { run_id: run, wait_s: 1 });
      assert.equal(running.structuredContent.outcome, 'running');
      const cancelled = await call(client, 'cancel_run', { run_id: run });
      assert.ok(!cancelled.isError, text(cancelled));
      const ended = await call(client, 'get_run', { run_id: run, wait_s: 5 });
      assert.equal(ended.structuredContent.outcome, 'cancelled');
    }));
}

async function ending(generation, { client, transport }) {
  await check(`${generation.name}: closing the client ends the process without a signal`, async () => {
    const { pid } = transport;
    assert.ok(pid);
    const began = performance.now();
    await client.close();
    // The SDK sends SIGTERM two seconds after it has closed standard input.
    assert.ok(performance.now() - began < 1900, 'in time');
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });
}

async function session(generation) {
  const holds = await within(
    120_000,
    connected(generation, [], async (session) => {
      await basics(generation, session);
      await cancelling(generation, session);
      await reloading(generation, session);
      await ending(generation, session);
    }).then(() => undefined, (error) => error),
    'the session',
  );
  if (holds) await check(`${generation.name}: the session holds`, () => Promise.reject(holds));
}

const inBackground = Promise.all(generations.map(handingOver));
for (const generation of generations) await session(generation);
await inBackground;
