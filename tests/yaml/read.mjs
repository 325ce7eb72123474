// Prints the files as JSON, one line each, as npm's `yaml` reads them in its strict mode.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, ...files] = process.argv.slice(2);
const YAML = createRequire(`${modules}/`)("yaml");
for (const file of files) {
  const document = YAML.parseDocument(readFileSync(file, "utf8"), { strict: true, version: "1.2" });
  const found = [...document.errors, ...document.warnings];
  console.log(JSON.stringify(found.length ? { error: found.map(String).join("; ") } : { value: document.toJS() }));
}
