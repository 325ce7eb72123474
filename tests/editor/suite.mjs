// What a user of an editor sees: no complaint about good files, the right one about bad ones, the right keys and
// words offered, and what a key means where the mouse rests on it.
//
//   suite.mjs PATH_OF_YAML_LANGUAGE_SERVER
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { bad, completions, hovers } from "./expected.mjs";
import { Server } from "./server.mjs";

const root = resolve(import.meta.dirname, "../..");
const schema = (kind) => pathToFileURL(join(root, "schemas", `${kind}.schema.json`)).href;
const server = new Server(process.argv[2], {
  yaml: {
    validate: true,
    completion: true,
    hover: true,
    schemaStore: { enable: false },
    // For files without a modeline; what has one keeps to it.
    schemas: {
      [schema("config")]: ["**/punctual.yaml"],
      [schema("workflow")]: ["tests/**/workflows/*.yaml", "tests/definitions/good/*.yaml"],
    },
  },
  "[yaml]": {},
  editor: { tabSize: 2 },
});

let passed = 0;
let failed = 0;
function check(name, problem) {
  if (problem) {
    failed += 1;
    console.log(`FAIL ${name}: ${problem}`);
  } else {
    passed += 1;
    console.log(`ok   ${name}`);
  }
}

const files = (folder, ending) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`)
    .sort();
const shown = (d) => `${d.range.start.line + 1}:${d.range.start.character + 1} ${d.message}`;

// Files on disk, each with the schema that its modeline or the settings name: not a word.
async function good(file) {
  const uri = pathToFileURL(join(root, file)).href;
  const text = readFileSync(join(root, file), "utf8");
  const found = (await server.open(uri, text)).map(shown);
  // That silence means something: the same file with a key too many is complained about.
  const strangeUri = `${uri}.strange.yaml`;
  const schemaLine = text.startsWith("# yaml-language-server:") ? "" : `${modeline(kindOf(file))}\n`;
  const strange = (await server.open(strangeUri, `${schemaLine}${text}\nstrange_key: 1\n`)).map(shown);
  const noticed = file.endsWith(".cases.yaml") || strange.some((line) => line.endsWith("Property strange_key is not allowed."));
  server.close(uri);
  server.close(strangeUri);
  check(`nothing is said of ${file}`, found.join("; ") || (noticed ? "" : `a strange key was not noticed: ${strange}`));
}
const kindOf = (file) =>
  file.endsWith(".cases.yaml") ? "cases" : file.endsWith("punctual.yaml") ? "config" : "workflow";
const modeline = (kind) => `# yaml-language-server: $schema=${schema(kind)}`;

let count = 0;
/** Opens a text of a kind below a modeline; `at` is where its mark ‸ stood. */
async function document(kind, marked) {
  const lines = `${modeline(kind)}\n${marked}`.split("\n");
  const line = lines.findIndex((text) => text.includes("‸"));
  const at = line < 0 ? null : { line, character: lines[line].indexOf("‸") };
  const uri = pathToFileURL(join(root, `target/editor/open/${(count += 1)}.yaml`)).href;
  const diagnostics = await server.open(uri, lines.join("\n").replace("‸", ""));
  return { uri, at, diagnostics };
}

async function complaint({ name, kind, text, says }) {
  const { uri, diagnostics } = await document(kind, text);
  // Lines are counted without the modeline.
  const place = (d) => d.range.start.line * 10_000 + d.range.start.character;
  const found = diagnostics
    .sort((a, b) => place(a) - place(b))
    .map((d) => shown({ ...d, range: { start: { ...d.range.start, line: d.range.start.line - 1 } } }));
  server.close(uri);
  const wrong = JSON.stringify(found) === JSON.stringify(says) ? "" : `\n  expected ${JSON.stringify(says)}\n  found    ${JSON.stringify(found)}`;
  check(name, wrong);
}

async function completion({ name, kind, text, offers, only, never = [] }) {
  const { uri, at } = await document(kind, text);
  const list = await server.ask("textDocument/completion", { textDocument: { uri }, position: at });
  server.close(uri);
  const labels = (list.items ?? list).map((item) => item.label);
  const missing = offers.filter((label) => !labels.includes(label));
  // `object` stands for all that must be there at once.
  const known = [...offers, "object"];
  const wrong = labels.filter((label) => never.includes(label) || (only && !known.includes(label)));
  const twice = labels.filter((label, ix) => labels.indexOf(label) !== ix);
  const problem = [
    missing.length && `not offered: ${missing} (but ${labels})`,
    wrong.length && `offered: ${wrong}`,
    twice.length && `offered twice: ${twice}`,
  ];
  check(name, problem.filter(Boolean).join("; "));
}

async function hover({ name, kind, text, says }) {
  const { uri, at } = await document(kind, text);
  const found = await server.ask("textDocument/hover", { textDocument: { uri }, position: at });
  server.close(uri);
  // Marks of Markdown are escaped; what people read has none.
  const read = (found?.contents?.value ?? "").replaceAll(/\\(.)/g, "$1");
  check(name, says.every((part) => read.includes(part)) ? "" : `found ${JSON.stringify(read)}`);
}

try {
  await server.start(root);
  const cases = files("workflows", ".cases.yaml");
  const shipped = files("workflows", ".yaml");
  const tested = [
    ...files("tests/definitions/good", ".yaml"),
    ...files("tests/clients/folder/workflows", ".yaml"),
    "tests/definitions/punctual.yaml",
    "tests/clients/folder/punctual.yaml",
  ];
  for (const file of new Set([...shipped, ...cases, ...tested])) await good(file);
  for (const expected of bad) await complaint(expected);
  for (const expected of completions) await completion(expected);
  for (const expected of hovers) await hover(expected);
  await server.stop();
} catch (error) {
  check("the server answers", error.stack);
} finally {
  server.kill();
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || !passed ? 1 : 0);
