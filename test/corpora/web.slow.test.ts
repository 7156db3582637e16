// The corpora of hosts and URLs through the tools and the proxy; whoever has another set runs `npm run corpora`.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import { holds, readCorpus, tell } from "./corpus.ts";
import { HAS_BOX } from "../fixtures/programs.ts";

const SHARED = resolve(import.meta.dirname, "../../../shared/corpora");
const MINUTES = 60_000;

test.for([
  ["ssrf", "ssrf/ssrf.txt", () => import("./ssrf.ts")],
  ["url", "url/urltestdata.json", () => import("./url.ts")],
  ["url", "url/toascii.json", () => import("./url.ts")],
] as const)(
  "%s: no line of %s leads astray",
  { timeout: 5 * MINUTES },
  async ([kind, file, load], { skip }) => {
    const path = resolve(SHARED, file);
    if (!existsSync(path)) return skip(`../shared/corpora/${file} is absent`);
    if (kind === "ssrf" && !HAS_BOX)
      return skip("web/fetch reads pages in a sandbox: bubblewrap is not installed");
    const entries = readCorpus(path);
    const began = performance.now();
    const result = await (await load()).run(entries);
    console.info(tell(kind, entries.length, result, (performance.now() - began) / 1_000));
    expect({ escaped: result.escaped, failed: result.controls.failed }).toEqual({
      escaped: [],
      failed: [],
    });
    expect(holds(result)).toBe(true);
  },
);
