import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type * as Rego from "../../src/policy/rego/browser.ts";
import { bundleRego } from "../../scripts/rego-browser.ts";

describe("the evaluator bundled for browsers", () => {
  test("is smaller than 150 kB, gzipped", async () => {
    const bytes = await bundleRego();
    expect(gzipSync(bytes, { level: 9 }).length).toBeLessThan(150_000);
  });

  test("decides, and refuses what needs a power no browser grants", async () => {
    const url = `data:text/javascript;base64,${Buffer.from(await bundleRego()).toString("base64")}`;
    const rego = (await import(url)) as typeof Rego;
    const compiled = rego.compile({ "p.rego": 'package p\n\nallow if input.user == "ada"\n' });
    expect(
      compiled.ok && compiled.policy.evaluate("data.p.allow", { input: { user: "ada" } }),
    ).toMatchObject({ ok: true, value: true });
    const annotated = rego.compile({
      "a.rego": "# METADATA\n# title: one\npackage a\n\nx := rego.metadata.chain()\n",
    });
    expect(annotated.ok).toBe(true);
    const refused = rego.compile({ "c.rego": 'package c\n\nx := crypto.sha256("a")\n' });
    expect(refused).toMatchObject({ ok: false, errors: [{ code: "rego_type_error", line: 3 }] });
  });
});
