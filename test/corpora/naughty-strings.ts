// Every string as every text argument of the file, memory and system tools, through the whole gate. What is stored
// comes back as it was, byte for byte; what cannot be is refused as the caller's fault. Nothing breaks.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Json, JsonObject, Outcome } from "../../src/contract/call.ts";
import { CODES } from "../../src/contract/errors.ts";
import type { Tool } from "../../src/contract/tool.ts";
import type { CorpusResult } from "./corpus.ts";
import { inParallel, openCorpusApp, type CorpusApp } from "./open-app.ts";

const CATEGORIES = ["file", "memory", "system"];
/** It installs what is named from a registry, in a box: its names are tried with the command tools. */
const LEFT_OUT = ["system/package_install"];
const AT_ONCE = 24;
const BATCH = 32;

type Attempt = (app: CorpusApp, text: string) => Promise<string | null>;

export async function run(entries: string[]): Promise<CorpusResult> {
  const app = await openCorpusApp();
  try {
    const tools = app.app.doors.registry
      .all()
      .filter(
        (tool) =>
          tool.provider === "native" &&
          CATEGORIES.includes(tool.category) &&
          !LEFT_OUT.includes(tool.name),
      );
    const attempts: [string, Attempt][] = [
      ...tools.flatMap((tool) =>
        placesOf(tool).map((place): [string, Attempt] => [
          `${tool.name} ${place.join("/")}`,
          (on, text) => tryPlace(on, tool, place, text),
        ]),
      ),
      ["file/write and file/read", writeAndRead],
      ["file/write to a path", writeToPath],
      ["memory/store and memory/retrieve", storeAndRetrieve],
      ["memory/store under a key", storeUnderKey],
      ["system/echo", echo],
    ];
    const escaped: string[] = [];
    const controls = { tried: 0, failed: [] as string[] };
    let tried = 0;
    for (let at = 0; at < entries.length; at += BATCH) {
      furnish(app);
      await control(app, controls);
      const work = entries
        .slice(at, at + BATCH)
        .flatMap((text) => attempts.map(([name, attempt]) => ({ name, attempt, text })));
      await inParallel(work, AT_ONCE, async ({ name, attempt, text }) => {
        tried++;
        const why = await attempt(app, text);
        if (why !== null) escaped.push(`${name} ${JSON.stringify(text).slice(0, 200)}: ${why}`);
      });
    }
    return { tried, contained: tried - escaped.length, escaped, controls };
  } finally {
    await app.close();
  }
}

/** The arguments that take a text, or a list of texts. */
function placesOf({ inputSchema }: Tool): string[][] {
  const properties = Object.entries(
    (inputSchema["properties"] ?? {}) as Record<string, JsonObject>,
  );
  return properties.flatMap(([name, schema]) => {
    const items = schema["items"] as JsonObject | undefined;
    if (schema["type"] === "string" && !("enum" in schema)) return [[name]];
    return items?.["type"] === "string" && !("enum" in items) ? [[name, "0"]] : [];
  });
}

async function tryPlace(
  app: CorpusApp,
  tool: Tool,
  [name = "", index]: string[],
  text: string,
): Promise<string | null> {
  const example = tool.examples.find((one) => name in one) ?? tool.examples[0] ?? {};
  return broken(
    await app.call(tool.name, { ...example, [name]: index === undefined ? text : [text] }),
  );
}

/** Null for a result, and for a refusal that is the caller's fault or says what is wrong with the world. */
function broken({ output, error }: Outcome): string | null {
  if (!error) return output === null ? "neither an output nor an error" : null;
  const { http } = CODES[error.code];
  const told =
    http < 500 ||
    (error.code === "EXECUTION_FAILED" && !["unexpected", "output_invalid"].includes(error.reason));
  return told ? null : `${error.code} ${error.reason}: ${error.message}`;
}

const isRefused = ({ error }: Outcome): boolean => error !== null && CODES[error.code].http < 500;

async function writeAndRead(app: CorpusApp, text: string): Promise<string | null> {
  const path = `round/${slot(text)}.txt`;
  const written = await app.call("file/write", { path, content: text });
  if (written.error) return isRefused(written) ? null : broken(written);
  const read = await app.call("file/read", { path, encoding: "base64" });
  const bytes = Buffer.from(
    ((read.output as JsonObject | null)?.["content"] as string | undefined) ?? "",
    "base64",
  );
  return bytes.equals(Buffer.from(text, "utf8")) ? null : "the file does not hold what was written";
}

async function writeToPath(app: CorpusApp, text: string): Promise<string | null> {
  const path = `named/${slot(text)}/${text}`;
  const written = await app.call("file/write", { path, content: "named" });
  if (written.error) return broken(written);
  const read = await app.call("file/read", { path });
  return (read.output as JsonObject | null)?.["content"] === "named"
    ? null
    : "the file is not found under its own name";
}

async function storeAndRetrieve(app: CorpusApp, text: string): Promise<string | null> {
  const key = `value-${slot(text)}`;
  return kept(app, key, { text, list: [text] });
}

const storeUnderKey = (app: CorpusApp, text: string): Promise<string | null> =>
  kept(app, text, `of ${slot(text)}`);

async function kept(app: CorpusApp, key: string, value: Json): Promise<string | null> {
  const stored = await app.call("memory/store", { key, value });
  if (stored.error) return isRefused(stored) ? null : broken(stored);
  const found = await app.call("memory/retrieve", { key });
  const same =
    JSON.stringify((found.output as JsonObject | null)?.["value"]) === JSON.stringify(value);
  return same ? null : `retrieved ${JSON.stringify(found.output ?? found.error).slice(0, 200)}`;
}

async function echo(app: CorpusApp, text: string): Promise<string | null> {
  const outcome = await app.call("system/echo", { text });
  if (outcome.error) return isRefused(outcome) ? null : broken(outcome);
  return JSON.stringify(outcome.output).includes(JSON.stringify(text).slice(1, -1))
    ? null
    : "another text came back";
}

async function control(
  app: CorpusApp,
  controls: { tried: number; failed: string[] },
): Promise<void> {
  for (const [name, attempt] of [
    ["files", writeAndRead],
    ["memory", storeAndRetrieve],
    ["echo", echo],
  ] as const) {
    controls.tried++;
    const why = await attempt(app, "plain text");
    const counted = await app.call("file/stat", { path: "README.md" });
    if (why !== null || (counted.output as JsonObject | null)?.["exists"] !== true)
      controls.failed.push(`${name}: ${why}`);
  }
}

/** The workspace that the examples speak of. */
function furnish({ workspace }: CorpusApp): void {
  for (const name of readdirSync(workspace))
    rmSync(join(workspace, name), { recursive: true, force: true });
  for (const name of ["old", "src"]) mkdirSync(join(workspace, name));
  for (const name of ["README.md", "draft.md", "old/draft.txt", "src/main.ts"])
    writeFileSync(join(workspace, name), "# Read me\nexport\n");
}

/** Different texts never meet in one place. */
const slot = (text: string): string =>
  Buffer.from(text, "utf8").toString("hex").slice(0, 100) + String(text.length);
