import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { canBrowse, openTraps, ownBrowsers } from "../../../test/fixtures/browser-site.ts";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import renderDiagram from "./render_diagram.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

describe.skipIf(!canBrowse())("with Chromium and bubblewrap", { timeout: 60_000 }, () => {
  test("a flowchart becomes svg", async () => {
    const drawn = await bench.run(renderDiagram, {
      source: "flowchart TD\n  A[Ask] --> B[Answer]",
    });
    expect(drawn).toMatchObject({ mime: "image/svg+xml" });
    expect(drawn["svg"]).toMatch(/^<svg[^>]*>[\s\S]*Answer[\s\S]*<\/svg>$/);
    expect(drawn["width"]).toBeGreaterThan(20);
    expect(drawn["height"]).toBeGreaterThan(20);
  });

  test("a sequence diagram becomes a png that is kept", async () => {
    const drawn = await bench.run(renderDiagram, {
      source: "sequenceDiagram\n  A->>B: hello",
      format: "png",
      theme: "dark",
    });
    expect(drawn).toMatchObject({ mime: "image/png", path: expect.any(String) });
    expect(drawn).not.toHaveProperty("svg");
    expect(bench.notes.at(-1)).toMatchObject({ filesTouched: [drawn["path"]] });
  });

  test("a fault is diagram_syntax with its line", async () => {
    const fault = await bench.fault(renderDiagram, {
      source: "flowchart TD\n  A --> B\n  B -->>> C[",
    });
    expect(fault).toMatchObject({
      code: "EXECUTION_FAILED",
      reason: "diagram_syntax",
      message: expect.stringContaining("line 3"),
    });
    expect(fault.errors?.[0]).toMatchObject({ path: "/source" });
    expect(await bench.fault(renderDiagram, { source: "no such diagram" })).toMatchObject({
      reason: "diagram_syntax",
    });
  });

  test("a diagram runs no script and reaches nothing", async () => {
    const traps = await openTraps();
    try {
      const source = `flowchart TD\n  A["<img src='http://127.0.0.1:${traps.tcp}/' onerror='fetch(String.fromCharCode(47))'>"] --> B\n  click A "javascript:alert(1)"\n  style A fill:url(http://127.0.0.1:${traps.tcp}/)`;
      const svg = await bench.run(renderDiagram, { source }).then(
        (drawn) => drawn["svg"] as string,
        () => "",
      );
      expect(svg).not.toMatch(/<script|onerror=|javascript:/i);
      expect(traps.heard).toEqual([]);
    } finally {
      await traps.close();
    }
  });

  test("a cancel ends it, and no browser stays", async () => {
    const controller = new AbortController();
    const drawing = bench.fault(
      renderDiagram,
      { source: 'pie\n  "a" : 1' },
      { signal: controller.signal },
    );
    setTimeout(() => controller.abort("user"), 100);
    expect(await drawing).toMatchObject({ code: "CANCELLED" });
    await expect.poll(() => ownBrowsers().length, { timeout: 20_000 }).toBe(0);
  });
});

test("without a browser it says what to install", async () => {
  const own = await openBench({ flags: { "browser.executable": "/nowhere/chromium" } });
  try {
    expect(await own.fault(renderDiagram, { source: "pie" })).toMatchObject({
      code: "UNAVAILABLE",
      reason: "browser_missing",
    });
  } finally {
    await own.close();
  }
});

test("the bundled mermaid is there", () => {
  const file = join(import.meta.dirname, "../../../node_modules/mermaid/dist/mermaid.min.js");
  expect(readFileSync(file, "utf8").length).toBeGreaterThan(1_000_000);
});
