import { resolve } from "node:path";
import { ESLint, Linter } from "eslint";
import { describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");
const RULES = ["no-restricted-globals", "@typescript-eslint/no-restricted-imports"];

/** What the two rules say about a text, were it that file. */
async function said(file: string, code: string): Promise<(string | undefined)[]> {
  const whole = (await new ESLint({ cwd: ROOT }).calculateConfigForFile(
    resolve(ROOT, file),
  )) as Linter.Config;
  const rules = Object.fromEntries(
    Object.entries(whole.rules ?? {}).filter(([name]) => RULES.includes(name)),
  );
  const { parser, globals } = whole.languageOptions ?? {};
  const config = {
    files: ["**/*.ts"],
    plugins: whole.plugins ?? {},
    rules,
    languageOptions: {
      parser,
      globals: {
        ...(globals as Record<string, string> | undefined),
        fetch: "readonly",
        WebSocket: "readonly",
      },
    },
  };
  return new Linter({ cwd: ROOT })
    .verify(code, [config as Linter.Config], { filename: "x.ts" })
    .map(({ message, fatal }) => (fatal ? `broken: ${message}` : message));
}

describe("reaching out is left to the guard", () => {
  test.each([
    'await fetch("https://example.org");',
    'await globalThis.fetch("https://example.org");',
    'new WebSocket("wss://example.org");',
    'import { request } from "node:http";',
    'import { get } from "node:http";',
    'import http from "node:http";',
    'import * as http from "node:http";',
    'import { request } from "node:https";',
    'import { connect } from "node:net";',
    'import net from "node:net";',
    'import { connect } from "node:tls";',
    'import { createSocket } from "node:dgram";',
    'import { lookup } from "node:dns/promises";',
    'import { Client } from "undici";',
  ])("%s is a fault", async (code) => {
    const messages = await said("src/core/record/live.ts", code);
    expect(messages).toEqual([expect.stringContaining("egress guard")]);
  });

  test.each([
    ["src/core/record/live.ts", 'import type { Socket } from "node:net";'],
    ["src/core/record/live.ts", 'import { isIP } from "node:net";'],
    ["src/server/http/listener.ts", 'import { createServer } from "node:http";'],
    ["src/reach/egress/dial.ts", 'import { connect } from "node:net";'],
    ["src/governance/policy/opa-server.ts", 'await fetch("http://opa");'],
    ["src/cli/client/client.ts", 'await fetch("http://127.0.0.1");'],
  ])("%s may say %s", async (file, code) => {
    expect(await said(file, code)).toEqual([]);
  });
});
