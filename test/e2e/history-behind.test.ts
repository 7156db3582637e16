// History that cannot be written is told at the door that operators look at, and calls go on meanwhile.
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";

let app: StartedApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

function exec(sql: string): void {
  using db = new DatabaseSync(join(app.dataDir, "ostiary.db"), { timeout: 5000 });
  db.exec(sql);
}
const call = () =>
  app.api("POST", "/executions", { body: { name: "system/echo", arguments: { text: "hello" } } });
const readiness = async (): Promise<string> => {
  const response = await fetch(`${app.url}/readyz`, {
    headers: { authorization: `Bearer ${app.adminKey}` },
  });
  return `${response.status} ${await response.text()}`;
};

test("/readyz says so until it can be written again, and then all of it is there", async () => {
  expect(await readiness()).toMatch(/^200 /);
  exec("alter table rollups rename to rollups_away");
  const warned = once(process, "warning");
  const { status, body } = await call();
  expect(status).toBe(200);
  await expect
    .poll(readiness, { timeout: 5_000 })
    .toMatch(/^503 .*history cannot be written: the log is ahead of it/);
  expect(String((await warned)[0])).toMatch(/StoreWarning: history cannot be written .*rollups/);
  exec("alter table rollups_away rename to rollups");
  await expect.poll(readiness, { timeout: 10_000 }).toMatch(/^200 /);
  expect((await app.api("GET", `/executions/${body.executionId}`)).body).toMatchObject({
    execution: { status: "success" },
  });
}, 30_000);
