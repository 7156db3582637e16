// npm run corpora -- <kind> <file> [--json <file>]: feeds a list of hostile input through every tool it concerns.
// Exit 1 on any escape.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { holds, readCorpus, tell, type CorpusRun } from "./corpus.ts";

const KINDS: Readonly<Record<string, () => Promise<{ run: CorpusRun }>>> = {
  traversal: () => import("./traversal.ts"),
  "command-injection": () => import("./command-injection.ts"),
  ssrf: () => import("./ssrf.ts"),
  "sql-injection": () => import("./sql-injection.ts"),
  "naughty-strings": () => import("./naughty-strings.ts"),
  url: () => import("./url.ts"),
  secrets: () => import("./secrets.ts"),
};

const SHOWN = 20;

async function main(args: string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { json: { type: "string" } },
  });
  const [kind = "", file] = positionals;
  const load = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (!load || file === undefined) {
    console.error(`usage: npm run corpora -- ${Object.keys(KINDS).join("|")} <file>`);
    return 2;
  }
  const entries = readCorpus(resolve(file));
  if (entries.length === 0) {
    console.error(`${file}: no entries`);
    return 1;
  }
  const began = performance.now();
  const result = await (await load()).run(entries);
  if (values.json !== undefined)
    writeFileSync(values.json, JSON.stringify({ kind, file, entries: entries.length, ...result }));
  for (const line of result.escaped.slice(0, SHOWN)) console.log(`escaped: ${line}`);
  for (const line of result.controls.failed.slice(0, SHOWN)) console.log(`control failed: ${line}`);
  console.log(tell(kind, entries.length, result, (performance.now() - began) / 1_000));
  return holds(result) ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (cause) {
  console.error(cause instanceof Error ? cause.message : cause);
  process.exitCode = 1;
}
