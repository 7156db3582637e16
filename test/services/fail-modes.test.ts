// The table of fail modes against the real servers: each one down, slow and answering noise. The gate denies, names the
// engine, in time; nothing runs; real and invented names are answered alike; it recovers without a restart.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { faultyProxy, type FaultyProxy, type ProxyMode } from "../fixtures/faulty-proxy.ts";

const CALLS = 20;
const FAULTS: readonly ProxyMode[] = ["down", "slow", "garbage"];
const RECOVERY_MS = 10_000;

interface Engine {
  /** Variable of scripts/services with the server's address. */
  readonly variable: string;
  readonly setting: string;
  /** As the verdict names it. */
  readonly engine: string;
  readonly limitMs: number;
  /** Hidden and invented names go through this engine too. */
  readonly hides: boolean;
  prefix?: string;
}

const ENGINES: Record<string, Engine> = {
  OPA: { variable: "OSTIARY_TEST_OPA", setting: "policy", engine: "policy", limitMs: 500, hides: true, prefix: "opa+" },
  SpiceDB: { variable: "OSTIARY_TEST_SPICEDB", setting: "relations", engine: "relation", limitMs: 500, hides: true },
  Redis: { variable: "OSTIARY_TEST_REDIS", setting: "state", engine: "state", limitMs: 250, hides: false },
}; // prettier-ignore

async function behindProxy(address: string): Promise<{ proxy: FaultyProxy; address: string }> {
  const url = new URL(address.replace(/^[a-z+]+:/, "http:"));
  const proxy = await faultyProxy({ host: url.hostname, port: Number(url.port) });
  return { proxy, address: address.replace(`${url.hostname}:${url.port}`, `127.0.0.1:${proxy.port}`) }; // prettier-ignore
}

for (const [name, engine] of Object.entries(ENGINES)) {
  const real = process.env[engine.variable];
  describe.skipIf(real === undefined && process.env["CI"] === undefined)(`${name}${real === undefined ? ` (skipped: ${engine.variable} is not set)` : ""}`, () => { // prettier-ignore
    let app: StartedApp;
    let proxy: FaultyProxy;
    let key: string;

    beforeAll(async () => {
      const behind = await behindProxy(real ?? "");
      proxy = behind.proxy;
      app = await startApp({ flags: { [engine.setting]: `${engine.prefix ?? ""}${behind.address}` } });
      // Of a plan with limits: only such a caller is counted.
      await app.api("POST", "/users", { body: { id: "limited", name: "limited", plan: "team" } });
      const made = await app.api("POST", "/keys", { body: { userId: "limited", name: "k", scopes: ["*"] } });
      key = made.body.secret as string;
    }, 60_000);
    afterAll(async () => {
      proxy.set("pass");
      await app.close();
      await proxy.close();
    });

    const call = (tool = "system/echo") =>
      app.api("POST", "/executions", { key, body: { name: tool, arguments: { text: "x" } } });

    it("control: the healthy engine lets the call through", async () => {
      expect((await call()).status).toBe(200);
    });

    it.each(FAULTS)("%s: every call is denied in time and the engine is named; afterwards it works again", async (fault) => {
      proxy.set(fault);
      const took: number[] = [];
      for (let i = 0; i < CALLS; i++) {
        const { status, body } = await call();
        expect({ status, code: body.code, reason: body.reason }).toEqual({ status: 503, code: "UNAVAILABLE", reason: "engine_unavailable" });
        expect(body.detail).toContain(`${engine.engine} engine`);
        if (!engine.hides) took.push(body.gates.at(-1).ms as number);
      }
      if (engine.hides) {
        const [known, invented] = await Promise.all([call("system/echo"), call("system/nothing")]);
        const blank = ({ body }: typeof known) => ({ ...body, instance: "", request_id: "", execution_id: "", explain_url: "" });
        expect(blank(invented)).toEqual(blank(known));
        expect((await app.api("GET", "/tools", { key })).status).toBe(503);
      }
      took.sort((a, b) => a - b);
      expect(took[took.length >> 1] ?? 0).toBeLessThan(engine.limitMs + 50);
      proxy.set("pass");
      const since = performance.now();
      while ((await call()).status !== 200) expect(performance.now() - since).toBeLessThan(RECOVERY_MS);
    }, 120_000);
  });
} // prettier-ignore
