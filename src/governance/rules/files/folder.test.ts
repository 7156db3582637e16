import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { packagedFolder, readFolder, readGovernanceFolder } from "./folder.ts";

let dir: string;
const write = (path: string, text: string | Uint8Array): void => {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
};
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), "ostiary-folder-"))));
afterEach(() => rmSync(dir, { recursive: true }));

test("the folder that comes with Ostiary is read whole", () => {
  const { policy, governance, relations } = readGovernanceFolder(packagedFolder());
  expect(Object.keys(policy)).toEqual(["tools.rego", "tools_test.rego"]);
  expect(Object.keys(governance)).toContain("tools.yaml");
  expect(Object.keys(relations)).toEqual(["schema.zed"]);
});

test("each file belongs to one kind; hidden files and prose to none", () => {
  write("policies/lib/a.rego", "package a");
  write("policies/data.yaml", "x: 1");
  write("tools.yaml", "t");
  write("schema.zed", "s");
  write("README.md", "");
  write("policies/.swp", "");
  expect(readGovernanceFolder(dir)).toEqual({
    policy: { "lib/a.rego": "package a", "data.yaml": "x: 1" },
    governance: { "tools.yaml": "t" },
    relations: { "schema.zed": "s" },
  });
});

test("L02: a file that nobody reads is refused by name", () => {
  write("tool.yaml.bak", "");
  expect(() => readGovernanceFolder(dir)).toThrow(/tool\.yaml\.bak: nothing reads it/);
});

test("what cannot be read is refused by name", () => {
  expect(() => readFolder(join(dir, "none"))).toThrow(/none: does not exist/);
  write("a.yaml", new Uint8Array([0xff, 0xfe]));
  expect(() => readFolder(dir)).toThrow(/a\.yaml: is not UTF-8 text/);
  write("a.yaml", "x".repeat(1_048_577));
  expect(() => readFolder(dir)).toThrow(/a\.yaml: is larger than/);
  rmSync(join(dir, "a.yaml"));
  symlinkSync("nowhere", join(dir, "b.yaml"));
  expect(() => readFolder(dir)).toThrow(/b\.yaml: does not exist/);
  rmSync(join(dir, "b.yaml"));
  for (let i = 0; i <= 500; i++) write(`f${i}.yaml`, "");
  expect(() => readFolder(dir)).toThrow(/more than 500 files/);
});
