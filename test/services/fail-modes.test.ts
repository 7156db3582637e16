// The table of fail modes against the real servers: each one down, slow and answering noise. The gate denies, names the
// engine, in time; nothing runs; real and invented names are answered alike; it recovers without a restart.
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { faultyProxy, type FaultyProxy, type ProxyMode } from "../fixtures/faulty-proxy.ts";

const CALLS = 20;
const FAULTS: readonly ProxyMode[] = ["down", "slow", "garbage"];
const RECOVERY_MS = 15_000;
/** Beyond the limit; the median counts, since the machine itself may pause. */
const GRACE_MS = 50;
const LEASE_MS = 1_500;

interface Engine {
  /** Variable of scripts/services with the server's address. */
  readonly variable: string;
  readonly setting: string;
  /** As the refusal names it. */
  readonly named: RegExp;
  readonly limitMs: number;
  /** Hidden and invented names go through this engine too. */
  readonly hides: boolean;
  readonly prefix?: string;
}

const ENGINES: Record<string, Engine> = {
  OPA: {
    variable: "OSTIARY_TEST_OPA",
    setting: "policy",
    named: /the policy engine/,
    limitMs: 500,
    hides: true,
    prefix: "opa+",
  },
  SpiceDB: {
    variable: "OSTIARY_TEST_SPICEDB",
    setting: "relations",
    named: /the relation engine/,
    limitMs: 500,
    hides: true,
  },
  Redis: {
    variable: "OSTIARY_TEST_REDIS",
    setting: "state",
    named: /the state engine/,
    limitMs: 250,
    hides: false,
  },
  PostgreSQL: {
    variable: "OSTIARY_TEST_POSTGRES",
    setting: "store",
    named: /store/,
    limitMs: 2_000,
    hides: true,
  },
};

async function behindProxy(address: string): Promise<{ proxy: FaultyProxy; address: string }> {
  const url = new URL(address.replace(/^[a-z+]+:/, "http:"));
  const proxy = await faultyProxy({ host: url.hostname, port: Number(url.port) });
  return {
    proxy,
    address: address.replace(`${url.hostname}:${url.port}`, `127.0.0.1:${proxy.port}`),
  };
}

/** A database of its own on the server. */
async function ownDatabase(address: string): Promise<string> {
  const name = `fail_${randomUUID().replaceAll("-", "")}`;
  const client = new pg.Client(address);
  await client.connect();
  await client.query(`create database ${name}`).finally(() => client.end());
  return address.replace(/\/[^/]*$/, `/${name}`);
}

for (const [name, engine] of Object.entries(ENGINES)) {
  const real = process.env[engine.variable];
  const missing = `${engine.variable} is not set: use \`npm run test:services\``;
  if (real === undefined && process.env["CI"])
    test(`${name}: ${missing}`, () => expect.unreachable(missing));

  describe.skipIf(real === undefined)(name, () => {
    let app: StartedApp;
    let proxy: FaultyProxy;
    let key: string;

    beforeAll(async () => {
      const server = engine.setting === "store" ? await ownDatabase(real ?? "") : (real ?? "");
      const behind = await behindProxy(server);
      proxy = behind.proxy;
      app = await startApp({
        flags: { [engine.setting]: `${engine.prefix ?? ""}${behind.address}` },
      });
      // Of a plan with limits: only such a caller is counted.
      await app.api("POST", "/users", { body: { id: "limited", name: "limited", plan: "team" } });
      const made = await app.api("POST", "/keys", {
        body: { userId: "limited", name: "k", scopes: ["*"] },
      });
      key = made.body.secret as string;
    }, 60_000);
    afterAll(async () => {
      proxy.set("pass");
      await app.close();
      await proxy.close();
    }, 60_000);

    const call = (tool = "system/echo") =>
      app.api("POST", "/executions", { key, body: { name: tool, arguments: { text: "x" } } });

    test("control: the healthy engine lets the call through", async () => {
      expect((await call()).status).toBe(200);
    });

    test.each(FAULTS)(
      "C46, %s: every call is denied in time and the engine is named; afterwards it works again",
      async (fault) => {
        proxy.set(fault);
        const took: number[] = [];
        for (let i = 0; i < CALLS; i++) {
          const began = performance.now();
          const { status, body } = await call();
          took.push(performance.now() - began);
          expect({ status, code: body.code, reason: body.reason }).toEqual({
            status: 503,
            code: "UNAVAILABLE",
            reason: "engine_unavailable",
          });
          expect(body.detail).toMatch(engine.named);
        }
        // What a cache has learnt holds for its lease.
        if (engine.setting === "store")
          await new Promise((resolve) => setTimeout(resolve, LEASE_MS));
        if (engine.hides) {
          const [known, invented] = await Promise.all([
            call("system/echo"),
            call("system/nothing"),
          ]);
          const blank = ({ body }: typeof known) => ({
            ...body,
            instance: "",
            request_id: "",
            execution_id: "",
            explain_url: "",
          });
          expect(blank(invented)).toEqual(blank(known));
          expect((await app.api("GET", "/tools", { key })).status).toBe(503);
        }
        took.sort((a, b) => a - b);
        expect(took[took.length >> 1]).toBeLessThan(engine.limitMs + GRACE_MS);
        proxy.set("pass");
        const since = performance.now();
        while ((await call()).status !== 200)
          expect(performance.now() - since).toBeLessThan(RECOVERY_MS);
      },
      180_000,
    );
  });
}
