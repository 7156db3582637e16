import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { bundleRego } from "../scripts/browser-bundle.ts";
import type * as Rego from "./browser.ts";

const MAX_GZIP_BYTES = 150_000;

describe("the bundle for browsers", () => {
  let code = "";
  let rego: typeof Rego;

  beforeAll(async () => {
    code = new TextDecoder().decode(await bundleRego());
    const url = `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;
    rego = (await import(/* @vite-ignore */ url)) as typeof Rego;
  }, 60_000);

  test("stays under its size", () => {
    expect(gzipSync(code, { level: 9 }).length).toBeLessThan(MAX_GZIP_BYTES);
  });

  test("needs nothing of Node and makes no code from text", () => {
    // Not toMatch: a failure would print the whole bundle.
    expect(/from\s*["']node:|require\(["']/.test(code)).toBe(false);
    expect(code.includes("new Function(")).toBe(false);
  });

  test("evaluates policies, with metadata too", () => {
    const compiled = rego.compile({ "p.rego": "package p\nallow if regex.match(`^a+$`, input.x)" });
    if (!compiled.ok) throw new Error(compiled.errors[0]?.message);
    expect(compiled.policy.evaluate("data.p.allow", { input: { x: "aa" } })).toMatchObject({
      value: true,
    });
    const annotated = rego.compile({
      "a.rego": "# METADATA\n# title: one\npackage a\n\nx := rego.metadata.chain()\n",
    });
    expect(annotated.ok).toBe(true);
  });

  test("refuses a policy that needs what no browser grants, or a group of built-ins", () => {
    const refused = rego.compile({ "c.rego": 'package c\n\nx := crypto.sha256("a")\n' });
    expect(refused).toMatchObject({ ok: false, errors: [{ code: "rego_type_error", line: 3 }] });
    const grouped = rego.compile({ "g.rego": 'package g\n\nx := graphql.is_valid("", "")\n' });
    expect(grouped).toMatchObject({
      ok: false,
      errors: [
        {
          message:
            'undefined function graphql.is_valid (the group of built-ins "graphql" is not loaded)',
        },
      ],
    });
  });
});
