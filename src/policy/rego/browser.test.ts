import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import type { compile } from "./browser.ts";

const MAX_GZIP_BYTES = 150_000;

describe("the bundle for browsers", () => {
  let code = "";

  beforeAll(async () => {
    const result = await build({
      entryPoints: ["src/policy/rego/browser.ts"],
      bundle: true,
      minify: true,
      format: "esm",
      platform: "browser",
      write: false,
    });
    code = result.outputFiles[0]?.text ?? "";
  }, 60_000);

  it("stays under its size", () => {
    expect(gzipSync(code, { level: 9 }).length).toBeLessThan(MAX_GZIP_BYTES);
  });

  it("needs nothing of Node and makes no code from text", () => {
    // Not toMatch: a failure would print the whole bundle.
    expect(/from\s*["']node:|require\(["']/.test(code)).toBe(false);
    expect(code.includes("new Function(")).toBe(false);
  });

  it("evaluates policies, and refuses those that need what no browser grants", async () => {
    const url = `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;
    const rego = (await import(/* @vite-ignore */ url)) as { compile: typeof compile };
    const compiled = rego.compile({ "p.rego": "package p\nallow if regex.match(`^a+$`, input.x)" });
    if (!compiled.ok) throw new Error(compiled.errors[0]?.message);
    expect(compiled.policy.evaluate("data.p.allow", { input: { x: "aa" } })).toMatchObject({
      value: true,
    });
    expect(rego.compile({ "p.rego": 'package p\nx := crypto.sha256("a")' }).ok).toBe(false);
  });
});
