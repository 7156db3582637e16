// Tests that need a program are skipped where it is missing. In CI that must never happen unseen.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { openSandbox } from "../src/reach/sandbox/sandbox.ts";
import { canBrowse } from "./fixtures/browser-site.ts";
import { areInstalled } from "./fixtures/programs.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("item 7: a program that is missing", () => {
  test("skips its tests on a laptop", () => {
    vi.stubEnv("CI", "");
    expect(areInstalled("/no/such/program")).toBe(false);
  });

  test("fails the file in CI", () => {
    vi.stubEnv("CI", "true");
    expect(() => areInstalled(process.execPath, "/no/such/program")).toThrow(
      "CI lacks /no/such/program",
    );
    expect(areInstalled(process.execPath)).toBe(true);
  });
});

describe.runIf(process.env["CI"])("item 7: in CI", () => {
  test("the sandbox works, whatever its tests look for", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ostiary-look-"));
    try {
      const sandbox = openSandbox({ folder, path: process.env["PATH"] ?? "" });
      expect(await sandbox.probed).toMatchObject({ ready: true });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("programs that are run in it are there", () => {
    expect(areInstalled("/usr/bin/python3", "/usr/bin/git", "/usr/bin/rg")).toBe(true);
    expect(canBrowse()).toBe(true);
  });
});
