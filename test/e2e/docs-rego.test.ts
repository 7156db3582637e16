// docs/rego.md: its examples run and print what it says, its list of functions is the list.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { STANDARD_BUILTINS } from "@ostiary/rego";
import { GRAPHQL } from "@ostiary/rego/graphql";
import { JSON_SCHEMA } from "@ostiary/rego/json-schema";
import { TEMPLATES } from "@ostiary/rego/templates";
import { X509 } from "@ostiary/rego/x509";

const ROOT = join(import.meta.dirname, "../..");
const DOC = readFileSync(join(ROOT, "docs/rego.md"), "utf8");
const BUILTINS = [...STANDARD_BUILTINS, ...GRAPHQL, ...JSON_SCHEMA, ...TEMPLATES, ...X509];
const MARKS: Record<string, string> = {
  crypto: "ᶜ",
  nowNs: "ᵗ",
  randomBytes: "ʳ",
  http: "ʰ",
  lookup: "ˡ",
};

describe("docs/rego.md", () => {
  const examples = [
    ...DOC.matchAll(/```sh\n(ostiary policy|echo)(.*)\n```\n(?:\n```text\n([^`]*)```)?/g),
  ];

  test.each(examples.map(([, first, rest, output]) => [`${first}${rest}`, output]))(
    "%s",
    (line, output) => {
      const command = String(line).replace("ostiary", `"${process.execPath}" src/main.ts`);
      const ran = spawnSync("sh", ["-c", command], { cwd: ROOT, encoding: "utf8" });
      if (output !== undefined) expect(ran.stdout + ran.stderr).toBe(output);
      expect(ran.status).toBe(output?.includes("✗") ? 1 : 0);
    },
  );

  test("there are examples of every verb", () => {
    const lines = examples.map(([, first, rest]) => `${first}${rest}`).join("\n");
    for (const verb of ["check", "test", "eval", "fmt"]) expect(lines).toContain(`policy ${verb}`);
  });

  test("every built-in function is listed once, with the power it needs", () => {
    const section = DOC.slice(DOC.indexOf("## Built-in functions"), DOC.indexOf("## Bounds"));
    const listed = [...section.matchAll(/`([a-z][\w.]+)`([ᶜᵗʳʰˡ]?)/g)].map(
      ([, name, mark]) => `${name}${mark}`,
    );
    const hidden = /^internal\.(print|test_case|template_string)$/;
    const wanted = BUILTINS.filter(({ name }) => !hidden.test(name)).map(
      ({ name, needs }) => `${name}${needs === undefined ? "" : MARKS[needs]}`,
    );
    expect(listed.filter((name) => name !== "in").sort()).toEqual(wanted.sort());
  });

  test("the program prints what it says", () => {
    const [, source = ""] = /```ts\n([^`]*)```/.exec(DOC) ?? [];
    const file = join(ROOT, "docs", `example-${process.pid}.ts`);
    writeFileSync(file, source);
    try {
      const ran = spawnSync(process.execPath, [file], { encoding: "utf8" });
      expect(ran).toMatchObject({ status: 0, stdout: "true\n" });
    } finally {
      rmSync(file);
    }
  });
});
