// T49: every secret by every way into a server, through its public doors; then a look into everything it has kept,
// logged, traced and told. Plain texts must come through as they are: else masking everything would score full marks.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect } from "../e2e/mcp-clients.ts";
import { otlpReceiver } from "../fixtures/otlp-receiver.ts";
import type { CorpusResult } from "./corpus.ts";
import { inParallel, openCorpusApp } from "./open-app.ts";

interface Entry {
  readonly id: string;
  readonly secret: boolean;
  readonly lookalike: boolean;
  readonly text: string;
  readonly values: readonly string[];
}

interface Server {
  readonly url: string;
  readonly adminKey: string;
  readonly dataDir: string;
}

/** Everything that was found in one place, as one text per piece. */
type Places = Record<string, string>;

const WAYS = ["result", "error", "exception", "progress", "metadata", "name", "refusal"] as const;
const AT_ONCE = 4;
const MOST_ALTERED = 0.01;
const CANARY = "plain canary without anything to hide";

export async function run(lines: string[]): Promise<CorpusResult> {
  const entries = lines.map((line) => decoded(JSON.parse(line) as Entry));
  const collector = await otlpReceiver();
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, "secrets-server.ts"), collector.url],
    { stdio: ["pipe", "pipe", "pipe"] },
  );
  const logged: Buffer[] = [];
  child.stderr.on("data", (chunk: Buffer) => logged.push(chunk));
  try {
    const said = createInterface(child.stdout)[Symbol.asyncIterator]();
    const { value: first } = await said.next();
    if (first === undefined)
      throw new Error(
        `the server did not start: ${Buffer.concat(logged).toString("utf8").slice(-2_000)}`,
      );
    const server = JSON.parse(first) as Server;
    const secrets = entries.filter(({ secret }) => secret);
    const heard = await feed(server, [...secrets.map(({ text }) => text), CANARY]);

    const places: Places = { answers: heard, "files while it runs": filesOf(server.dataDir) };
    places["history"] = await historyOf(server);
    places["export"] = await exportOf(server);
    await collector.until((spans) => spans.some((span) => stringsOf(span).includes(CANARY)));
    child.stdin.write("stop\n");
    await said.next();
    places["files it left"] = filesOf(server.dataDir);
    places["spans"] = stringsOf(collector.spans);
    places["log"] = linesOf(Buffer.concat(logged).toString("utf8"));

    const { plain, lookalikes } = await altered(entries);
    const escaped = secrets.flatMap(({ id, values }) =>
      Object.entries(places)
        .filter(([, text]) => values.some((value) => holds(text, value)))
        .map(([place]) => `${id} in ${place}`),
    );
    const blind = Object.keys(places).filter((place) => !places[place]?.includes(CANARY));
    const failed = blind.map((place) => `the canary is not found in ${place}`);
    if (plain.altered > plain.tried * MOST_ALTERED)
      failed.push(`${plain.altered} of ${plain.tried} plain texts were altered`);
    console.log(
      `secrets: ${plain.altered} of ${plain.tried} plain texts altered, ${lookalikes.altered} of ${lookalikes.tried} look-alikes masked`,
    );
    const tried = secrets.length * WAYS.length;
    return {
      tried,
      contained: tried - escaped.length,
      escaped,
      controls: { tried: Object.keys(places).length + 1, failed },
    };
  } finally {
    const gone = once(child, "exit");
    child.stdin.end();
    await gone;
    await collector.close();
  }
}

function decoded({ text, values, ...rest }: Entry): Entry {
  const plain = (base64: string): string => Buffer.from(base64, "base64").toString("utf8");
  return { ...rest, text: plain(text), values: values.map(plain) };
}

async function post(server: Server, body: object): Promise<unknown> {
  const response = await fetch(`${server.url}/api/v1/executions`, {
    method: "POST",
    headers: headersOf(server),
    body: JSON.stringify(body),
  });
  return response.json();
}

const headersOf = ({ adminKey }: Server) => ({
  authorization: `Bearer ${adminKey}`,
  "content-type": "application/json",
});

/** Each text by each way; what came back of those that hand it on. */
async function feed(server: Server, texts: readonly string[]): Promise<string> {
  const heard: unknown[] = [];
  const { client } = await connect(server.url, server.adminKey, "legacy");
  await inParallel(texts, AT_ONCE, async (text) => {
    heard.push(await post(server, { name: "system/mirror", arguments: { text } }));
    heard.push(await post(server, { name: "system/complain", arguments: { text } }));
    heard.push(await post(server, { name: "system/stumble", arguments: { text } }));
    await client.callTool(
      { name: "system_progress", arguments: { text } },
      { onprogress: (told) => void heard.push(told) },
    );
    await post(server, {
      name: "system/mirror",
      arguments: { text: "metadata" },
      context: { metadata: { note: text } },
    });
    // What is no tool, and what is no argument: the refusal quotes both to whoever sent them, and the record must not.
    await post(server, { name: text.slice(0, 500), arguments: {} });
    await post(server, {
      name: "system/mirror",
      arguments: { text: "x", [text]: text, more: [text] },
    });
  });
  await client.close();
  return stringsOf(heard);
}

/**
 * How many texts without a secret are something else in the record. A server of its own: look-alikes hold secrets'
 * letters.
 */
async function altered(entries: readonly Entry[]) {
  const count = { plain: { tried: 0, altered: 0 }, lookalikes: { tried: 0, altered: 0 } };
  const { app, call, close } = await openCorpusApp();
  const caller = await app.callerOf(app.adminKey);
  try {
    for (const { text, lookalike } of entries.filter(({ secret }) => !secret)) {
      const { executionId } = await call("system/echo", { text });
      const record = await app.doors.history.get(caller, executionId);
      const kind = lookalike ? count.lookalikes : count.plain;
      kind.tried++;
      if (record?.arguments["text"] !== text) kind.altered++;
    }
  } finally {
    await close();
  }
  return count;
}

/** The database with its log, and whatever else lies there, byte by byte. */
function filesOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  );
  return files.map((file) => readFileSync(join(file.parentPath, file.name), "latin1")).join("\n");
}

async function historyOf(server: Server): Promise<string> {
  const pages: unknown[] = [];
  for (let after = "", more = true; more;) {
    const response = await fetch(
      `${server.url}/api/v1/executions?limit=100${after === "" ? "" : `&after=${after}`}`,
      { headers: headersOf(server) },
    );
    const page = (await response.json()) as { executions: unknown[]; next: string | null };
    pages.push(page.executions);
    after = page.next ?? "";
    more = page.next !== null;
  }
  return stringsOf(pages);
}

async function exportOf(server: Server): Promise<string> {
  const response = await fetch(`${server.url}/api/v1/audit/export`, { headers: headersOf(server) });
  return linesOf(await response.text());
}

/** Lines of JSON as they are, and what they say. */
const linesOf = (text: string): string =>
  [
    text,
    ...text
      .split("\n")
      .flatMap((line) => (line.startsWith("{") ? [stringsOf(JSON.parse(line))] : [])),
  ].join("\n");

/** Every text and name inside a value; texts that are JSON themselves are read as such, too. */
function stringsOf(value: unknown): string {
  const found: string[] = [];
  const visit = (inner: unknown): void => {
    if (typeof inner === "string") {
      found.push(inner);
      if (/^[{[]/.test(inner)) visit(parsed(inner));
    } else if (typeof inner === "object" && inner !== null) {
      for (const [name, one] of Object.entries(inner)) {
        found.push(name);
        visit(one);
      }
    }
  };
  visit(value);
  return found.join("\n");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** As it is, as JSON writes it once and twice, and as bytes that were read as Latin-1. */
function holds(text: string, value: string): boolean {
  const json = JSON.stringify(value).slice(1, -1);
  const spellings = [value, json, JSON.stringify(json).slice(1, -1)];
  return spellings.some(
    (one) => text.includes(one) || text.includes(Buffer.from(one, "utf8").toString("latin1")),
  );
}
