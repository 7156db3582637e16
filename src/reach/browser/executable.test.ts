import { chmodSync, copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { AppError } from "../../contract/errors.ts";
import { findChromium } from "./executable.ts";

const folder = mkdtempSync(join(tmpdir(), "ostiary-chromium-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = join(folder, "real");
copyFileSync(process.execPath, program);
chmodSync(program, 0o755);
symlinkSync(program, join(folder, "chromium"));
writeFileSync(join(folder, "script"), "#!/bin/sh\nexec chromium\n", { mode: 0o755 });

test("a browser on PATH is found, links resolved", () => {
  expect(findChromium(undefined, `relative:${folder}`)).toBe(program);
});

test("the setting wins", () => {
  expect(findChromium(program, "")).toBe(program);
});

test.each([
  ["what is not there", join(folder, "absent")],
  ["a folder", folder],
  ["a relative path", "chromium"],
  ["a wrapper script", join(folder, "script")],
])("%s in the setting is browser_missing, with what to do", (_what, setting) => {
  try {
    findChromium(setting, folder);
    expect.unreachable();
  } catch (cause) {
    expect((cause as AppError).fault).toMatchObject({
      code: "UNAVAILABLE",
      reason: "browser_missing",
      remedy: expect.stringContaining("install Chromium"),
    });
  }
});
