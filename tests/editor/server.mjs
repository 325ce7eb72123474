// A client of a language server over its standard input and output: no more of the protocol than the suite asks for.
import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";

const LIMIT_MS = 30_000;

export class Server {
  #child;
  #buffer = Buffer.alloc(0);
  #next = 1;
  #waiting = new Map(); // id -> {resolve, reject, timer}
  #published = new Map(); // uri -> resolve
  #settings;

  constructor(program, settings) {
    this.#settings = settings;
    this.#child = spawn(process.execPath, [program, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdout.on("data", (bytes) => this.#read(bytes));
    this.#child.on("exit", (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the server left with code ${code}`));
    });
  }

  async start(root) {
    await this.ask("initialize", {
      processId: process.pid,
      rootUri: pathToFileURL(root).href,
      workspaceFolders: [{ uri: pathToFileURL(root).href, name: "root" }],
      capabilities: {
        workspace: { configuration: true, workspaceFolders: true },
        textDocument: {
          completion: { completionItem: { snippetSupport: true, documentationFormat: ["markdown"] } },
          hover: { contentFormat: ["markdown"] },
          publishDiagnostics: { versionSupport: true },
        },
      },
    });
    this.#tell("initialized", {});
    this.#tell("workspace/didChangeConfiguration", { settings: this.#settings });
  }

  /** Opens a text and gives the first diagnostics that the server publishes for it. */
  open(uri, text) {
    const found = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no diagnostics of ${uri} within ${LIMIT_MS} ms`)), LIMIT_MS);
      this.#published.set(uri, (diagnostics) => (clearTimeout(timer), resolve(diagnostics)));
    });
    this.#tell("textDocument/didOpen", { textDocument: { uri, languageId: "yaml", version: 1, text } });
    return found;
  }

  close(uri) {
    this.#published.delete(uri);
    this.#tell("textDocument/didClose", { textDocument: { uri } });
  }

  ask(method, params) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${method} within ${LIMIT_MS} ms`)), LIMIT_MS);
      this.#waiting.set(id, { resolve, reject, timer });
      this.#send({ id, method, params });
    });
  }

  async stop() {
    await this.ask("shutdown", null);
    this.#tell("exit", null);
  }

  kill() {
    this.#child.kill();
  }

  #tell(method, params) {
    this.#send({ method, params });
  }

  #send(message) {
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.#child.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.#child.stdin.write(body);
  }

  #read(bytes) {
    this.#buffer = Buffer.concat([this.#buffer, bytes]);
    for (;;) {
      const head = this.#buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.#buffer.toString("latin1", 0, head))[1]);
      if (this.#buffer.length < head + 4 + length) return;
      const body = this.#buffer.toString("utf8", head + 4, head + 4 + length);
      this.#buffer = this.#buffer.subarray(head + 4 + length);
      this.#handle(JSON.parse(body));
    }
  }

  #handle(message) {
    if (message.method === "workspace/configuration") {
      const result = message.params.items.map((item) => this.#settings[item.section] ?? null);
      this.#send({ id: message.id, result });
    } else if (message.method && message.id !== undefined) {
      this.#send({ id: message.id, result: null });
    } else if (message.method === "textDocument/publishDiagnostics") {
      this.#published.get(message.params.uri)?.(message.params.diagnostics);
    } else if (message.id !== undefined && !message.method) {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (!waiting) return;
      clearTimeout(waiting.timer);
      if (message.error) waiting.reject(new Error(message.error.message));
      else waiting.resolve(message.result);
    }
  }
}
