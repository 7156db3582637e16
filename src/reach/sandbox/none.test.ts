import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noSandbox } from "./none.ts";
import { openSandbox } from "./sandbox.ts";

const job = { cwd: "/job", env: {}, mounts: [] };
const refused = {
  fault: { code: "UNAVAILABLE", reason: "sandbox_unavailable", remedy: expect.any(String) },
};

test("without a box everything is refused, and the fix is named", async () => {
  const sandbox = noSandbox();
  expect(await sandbox.probed).toMatchObject({
    ready: false,
    reason: expect.any(String),
    fix: expect.stringContaining("bubblewrap"),
  });
  await expect(
    sandbox.run({ ...job, argv: ["/bin/true"], signal: new AbortController().signal }),
  ).rejects.toMatchObject(refused);
  await expect(
    sandbox.open({ ...job, argv: ["/bin/true"], signal: new AbortController().signal }),
  ).rejects.toMatchObject(refused);
  await expect(sandbox.launcher({ ...job, program: "/bin/true" })).rejects.toMatchObject(refused);
  await sandbox.close();
});

test.skipIf(process.platform !== "linux")(
  "T38: with bubblewrap hidden nothing runs, and never outside a box",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "ostiary-hidden-"));
    const sandbox = openSandbox({ folder: join(folder, "own"), path: folder });
    expect(sandbox.status).toMatchObject({ ready: false, reason: "it was not tried yet" });
    expect(await sandbox.probed).toMatchObject({
      ready: false,
      reason: "bubblewrap is not installed",
      fix: expect.stringContaining("apt install bubblewrap"),
    });
    await expect(
      sandbox.run({ ...job, argv: ["/bin/true"], signal: new AbortController().signal }),
    ).rejects.toMatchObject(refused);
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  },
);

test("a sandbox that nobody asked for is closed without having been opened", async () => {
  const sandbox = openSandbox({ folder: "/nonexistent/never", path: "" });
  await expect(sandbox.close()).resolves.toBeUndefined();
});
