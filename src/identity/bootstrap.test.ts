import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startApp } from "../../test/fixtures/app.ts";

it("a first start makes keys in 0600 files; the next start keeps them", async () => {
  const first = await startApp({ listen: false });
  expect(first.app.newAdminKey).toBe(first.adminKey);
  for (const file of ["admin.key", "cli.key", "instance.id", "owner.json"]) {
    expect(statSync(join(first.dataDir, file)).mode & 0o777).toBe(0o600);
  }
  await first.stop();
  const second = await startApp({ listen: false, dataDir: first.dataDir });
  expect(second.app.newAdminKey).toBeNull();
  expect(second.adminKey).toBe(first.adminKey);
  expect(await second.callerOf(first.cliKey)).toMatchObject({ userId: "cli" });
  await second.close();
});

it("a preset administrator key is taken as it stands and never printed", async () => {
  const preset = "correct-horse-battery-staple-and-more";
  const app = await startApp({ listen: false, flags: { adminKey: preset } });
  expect(app.app.newAdminKey).toBeNull();
  expect(await app.callerOf(preset)).toMatchObject({ userId: "owner", role: "admin" });
  await app.stop();
  const again = await startApp({
    listen: false,
    dataDir: app.dataDir,
    flags: { adminKey: preset },
  });
  const owner = await again.callerOf(preset);
  const keys = await again.doors.directory.listKeys(owner, { limit: 100, userId: "owner" });
  expect(keys).toHaveLength(1);
  await again.close();
});

it("a lost or revoked key file is replaced at the next start", async () => {
  const first = await startApp({ listen: false });
  const owner = await first.callerOf(first.adminKey);
  const cli = await first.callerOf(first.cliKey);
  await first.doors.directory.revokeKey(owner, cli.keyId ?? "");
  await first.stop();
  const second = await startApp({ listen: false, dataDir: first.dataDir });
  expect(second.cliKey).not.toBe(first.cliKey);
  expect(await second.callerOf(second.cliKey)).toMatchObject({ userId: "cli" });
  await second.close();
});

it("a preset key that looks like ours but is damaged stops the start", async () => {
  const damaged = `ost_local_${"a".repeat(49)}`;
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-test-"));
  await expect(startApp({ listen: false, dataDir, flags: { adminKey: damaged } })).rejects.toMatchObject({ fault: { code: "BAD_REQUEST" } }); // prettier-ignore
  // Nothing is held: the same folder starts once the key is right.
  await (await startApp({ listen: false, dataDir })).close();
});
