// The evaluator in a real browser, under a policy that forbids evaluated code: the same answers as in Node.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundleRego } from "../../packages/rego/scripts/browser-bundle.ts";
import { compile as browserCompile } from "@ostiary/rego/browser";
import { compile, fromJson, toJsonText } from "@ostiary/rego";
import { caseFiles, readCases } from "../conformance/rego-cases.ts";
import { answerTo } from "../conformance/rego-portable.ts";

const chromium = process.env["OSTIARY_TEST_CHROMIUM"];
const CORPUS = "../shared/corpora/opa";
const SAMPLE = 200;
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const CSP = "default-src 'none'; script-src 'self'; connect-src 'self'";

/** Spread over the whole corpus, of what the browser's entry has the built-ins for. */
function sample(): string[] {
  const texts = caseFiles(CORPUS)
    .flatMap(readCases)
    .map((each) => toJsonText(fromJson(each)))
    .filter((text) => !answerTo(browserCompile, text).includes("rego_type_error"));
  const step = texts.length / SAMPLE;
  return Array.from({ length: SAMPLE }, (_, i) => texts[Math.floor(i * step)] ?? "");
}

async function inBrowser(bin: string, cases: readonly string[]): Promise<string[]> {
  const page = await bundleRego(join(import.meta.dirname, "../fixtures/rego-page.ts"));
  let done: (answers: string[]) => void;
  const answers = new Promise<string[]>((resolve) => (done = resolve));
  const server = createServer((request, response) => {
    response.setHeader("content-security-policy", CSP);
    if (request.method === "POST") {
      response.end();
      readAll(request).then(
        (text) => done(JSON.parse(text) as string[]),
        () => undefined,
      );
    } else if (request.url === "/page.js") {
      response.setHeader("content-type", "text/javascript").end(page);
    } else if (request.url === "/cases.json") {
      response.end(JSON.stringify(cases));
    } else {
      response
        .setHeader("content-type", "text/html")
        .end('<!doctype html><meta charset="utf-8"><script type="module" src="/page.js"></script>');
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const profile = mkdtempSync(join(tmpdir(), "rego-chromium-"));
  const flags = [...FLAGS, `--user-data-dir=${profile}`, "--remote-debugging-port=0"];
  const browser = spawn(bin, [...flags, `http://127.0.0.1:${port}/`], { stdio: "ignore" });
  const ended = once(browser, "close");
  try {
    return await Promise.race([
      answers,
      ended.then(([code]) => Promise.reject(new Error(`chromium ended with ${String(code)}`))),
    ]);
  } finally {
    browser.kill("SIGKILL");
    await ended;
    server.closeAllConnections();
    server.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request.setEncoding("utf8")) text += String(part);
  return text;
}

if (chromium !== undefined && existsSync(CORPUS)) {
  describe("Chromium", () => {
    test(`decides ${SAMPLE} of OPA's cases as Node does`, async () => {
      const cases = sample();
      expect(new Set(cases).size).toBe(SAMPLE);
      const expected = cases.map((text) => answerTo(compile, text));
      // The control: the cases are decided, not merely refused by both.
      expect(expected.filter((text) => text.startsWith("[")).length).toBeGreaterThan(SAMPLE / 2);
      expect(await inBrowser(chromium, cases)).toEqual(expected);
    }, 180_000);
  });
} else {
  const why =
    chromium === undefined
      ? "OSTIARY_TEST_CHROMIUM is not set: use `npm run test:services`"
      : `${CORPUS} is absent`;
  // Where the corpus is not handed out, as in a clone, its absence is no failure.
  test.skipIf(!process.env["CI"] || chromium !== undefined)(`Chromium: ${why}`, () =>
    expect.unreachable(why),
  );
}
