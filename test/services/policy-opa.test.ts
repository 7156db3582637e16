import { spawn, type ChildProcess } from "node:child_process";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { openPolicyEngine } from "../../src/governance/policy/open.ts";
import type { PolicyEngine } from "../../src/governance/policy/policy.ts";
import { startApp } from "../fixtures/app.ts";
import { newUser } from "../fixtures/contract.ts";
import { ADA, policySuite, POWERS, STARTER } from "../../src/governance/policy/policy.suite.ts";

const url = process.env["OSTIARY_TEST_OPA"];
const bin = process.env["OSTIARY_TEST_OPA_BIN"];
const ENABLED = { "system/echo": { enabled: true } };

if (url !== undefined && bin !== undefined) {
  policySuite("OPA", (powers) => openPolicyEngine(`opa+${url}`, powers));

  describe("an OPA server that comes and goes", () => {
    let engine: PolicyEngine | null = null;
    let opa: ChildProcess | null = null;
    const stopOpa = async (): Promise<void> => {
      const gone = new Promise((resolve) => opa?.once("exit", resolve));
      opa?.kill();
      await gone;
      opa = null;
    };
    const startOpa = async (port: number): Promise<void> => {
      opa = spawn(
        bin,
        [
          "run",
          "--server",
          "--addr",
          `127.0.0.1:${port}`,
          "--log-level",
          "error",
          "--set",
          "decision_logs.console=true",
        ],
        { stdio: "ignore" },
      );
      await expect
        .poll(
          () =>
            fetch(`http://127.0.0.1:${port}/health`).then(
              (reply) => reply.ok,
              () => false,
            ),
          { timeout: 20_000 },
        )
        .toBe(true);
    };
    afterEach(async () => {
      await engine?.close();
      if (opa) await stopOpa();
    });

    test("is told the policies again after a restart; until then every decision throws", async () => {
      const port = await freePort();
      await startOpa(port);
      engine = await openPolicyEngine(`opa+http://127.0.0.1:${port}`, POWERS);
      await engine.load("enforced", { version: "1", files: STARTER });
      await engine.setTools(ENABLED);
      const decided = await engine.decide("enforced", ADA, false);
      expect(decided).toMatchObject({ allow: true, version: "1" });
      expect(decided?.decisionId).toMatch(/^[0-9a-f-]{36}$/);
      await engine.ping();

      await stopOpa();
      await expect(engine.decide("enforced", ADA, false)).rejects.toThrow();
      await expect(engine.ping()).rejects.toThrow();
      // A switch that cannot be sent is not lost.
      await engine.setTools({});
      await expect(engine.decide("enforced", ADA, false)).rejects.toThrow();

      await startOpa(port);
      const late = () => Promise.resolve(engine?.decide("enforced", ADA, false)).catch(() => null);
      await expect.poll(late, { timeout: 10_000 }).toMatchObject({ allow: false, version: "1" });
      await engine.setTools(ENABLED);
      expect(await late()).toMatchObject({ allow: true });

      // Somebody removes what we wrote: not one decision is made without it.
      await fetch(`http://127.0.0.1:${port}/v1/policies/ostiary/enforced/ostiary_enforced.rego`, {
        method: "DELETE",
      });
      await expect(engine.decide("enforced", ADA, false)).rejects.toThrow(/does not hold policy 1/);
      await expect.poll(late, { timeout: 10_000 }).toMatchObject({ allow: true });
    });

    test("a start while it is out denies, and recovers alone", async () => {
      const port = await freePort();
      engine = await openPolicyEngine(`opa+http://127.0.0.1:${port}`, POWERS);
      const refused = await engine
        .load("enforced", { version: "1", files: STARTER })
        .catch((cause: unknown) => cause);
      expect(refused).toMatchObject({
        fault: { code: "UNAVAILABLE", reason: "engine_unavailable" },
      });
      await expect(engine.decide("enforced", ADA, false)).rejects.toThrow();
      await startOpa(port);
      const late = () => Promise.resolve(engine?.decide("enforced", ADA, false)).catch(() => null);
      await expect.poll(late, { timeout: 10_000 }).toMatchObject({ allow: false, version: "1" });
    });

    test("two instances of different versions never take the other's answer for their own", async () => {
      const port = await freePort();
      await startOpa(port);
      const other = await openPolicyEngine(`opa+http://127.0.0.1:${port}`, POWERS);
      engine = await openPolicyEngine(`opa+http://127.0.0.1:${port}`, POWERS);
      await other.load("enforced", { version: "1", files: STARTER });
      await engine.load("enforced", {
        version: "2",
        files: { "a.rego": "package ostiary.tools\n\ndefault allow := false\n" },
      });
      await expect(other.decide("enforced", ADA, false)).rejects.toThrow(/does not hold policy 1/);
      expect(await engine.decide("enforced", ADA, false)).toMatchObject({
        allow: false,
        version: "2",
      });
      await other.close();
    });

    test("the whole server decides with it, and denies everything while it is out", async () => {
      const port = await freePort();
      await startOpa(port);
      const app = await startApp({ flags: { policy: `opa+http://127.0.0.1:${port}` } });
      try {
        const key = await newUser(app, "ann");
        const echo = () =>
          app.api("POST", "/executions", {
            key,
            body: { name: "system/echo", arguments: { text: "hi" } },
          });
        expect((await echo()).body).toMatchObject({ status: "success" });
        const files = {
          "t.rego":
            'package ostiary.tools\n\ndefault allow := false\n\nallow if input.action == "view"\n\nreasons contains "only looking" if input.action == "execute"',
        };
        const made = await app.api("POST", "/policies", { body: { files } });
        expect(
          (await app.api("POST", `/policies/${made.body.document.version}/publish`, { body: {} }))
            .status,
        ).toBe(200);
        expect((await echo()).body).toMatchObject({
          reason: "policy_denied",
          gates: expect.arrayContaining([
            expect.objectContaining({ rule: "t.rego:7" }),
          ]) as unknown[],
        });
        await app.api("POST", "/policies/rollback", { body: {} });
        expect((await echo()).body).toMatchObject({ status: "success" });
        await stopOpa();
        const out = await echo();
        expect(out.status).toBe(503);
        expect(out.body).toMatchObject({ code: "UNAVAILABLE", reason: "engine_unavailable" });
        expect((await app.api("GET", "/tools", { key })).status).toBe(503);
        // Switched while nobody listens: told as soon as somebody does.
        await app.api("PATCH", "/tools/system/echo", { body: { enabled: true } });
        await startOpa(port);
        await expect
          .poll(async () => ((await echo()).body as { status: unknown }).status, {
            timeout: 10_000,
          })
          .toBe("success");
      } finally {
        await app.close();
      }
    });

    test("a set that only the server refuses leaves the former one in force", async () => {
      const port = await freePort();
      await startOpa(port);
      // In the way of what will be pushed: the server then has two defaults of one rule.
      engine = await openPolicyEngine(`opa+http://127.0.0.1:${port}`, POWERS);
      await engine.load("enforced", { version: "1", files: STARTER });
      await engine.setTools(ENABLED);
      await fetch(`http://127.0.0.1:${port}/v1/policies/theirs`, {
        method: "PUT",
        body: "package mine\n\ndefault x := 1",
      });
      const clash = { ...STARTER, "mine.rego": "package mine\n\ndefault x := 2" };
      await expect(engine.load("enforced", { version: "2", files: clash })).rejects.toMatchObject({
        fault: { code: "BAD_REQUEST", message: expect.stringContaining("refuses") as string },
      });
      expect(await engine.decide("enforced", ADA, false)).toMatchObject({
        allow: true,
        version: "1",
      });
    });
  });
} else {
  const start = "OSTIARY_TEST_OPA is not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`OPA: ${start}`, () => expect.unreachable(start));
}

describe("garbage from the policy server", () => {
  let server: Server | null = null;
  afterEach(() => new Promise((resolve) => server?.close(resolve)));

  /** Takes every push; answers decisions as told. */
  async function answering(answer: (response: ServerResponse, version: string) => void) {
    let version = "";
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        version = /version := "(.*)"/.exec(body)?.[1] ?? version;
        if (request.method === "POST") return answer(response, version);
        response.end("{}");
      });
    });
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const engine = await openPolicyEngine(`opa+http://127.0.0.1:${port}`, POWERS);
    await engine.load("enforced", { version: "1", files: STARTER });
    await engine.setTools(ENABLED);
    return engine;
  }
  const json =
    (value: (version: string) => unknown) => (response: ServerResponse, version: string) =>
      void response.end(JSON.stringify(value(version)));

  test.each([
    ["text", (response: ServerResponse) => void response.end("hello")],
    ["half a document", (response: ServerResponse) => void response.end('{"result": {"allow": tr')],
    ["a failure", (response: ServerResponse) => void response.writeHead(500).end("{}")],
    ["nothing", (response: ServerResponse) => void response.destroy()],
    ["an empty document", json(() => ({}))],
    ["a bare yes", json(() => ({ result: true }))],
    ["a list", json(() => [{ result: { allow: true } }])],
    ["a yes without a version", json(() => ({ result: { allow: true } }))],
    ["a yes of another version", json(() => ({ result: { allow: true, version: "1:0" } }))],
  ])("%s is no decision", async (_, answer) => {
    const engine = await answering(answer);
    await expect(engine.decide("enforced", ADA, false)).rejects.toThrow();
    await engine.close();
  });

  test("silence is no decision, after 400 ms", async () => {
    const engine = await answering(() => undefined);
    const began = performance.now();
    await expect(engine.decide("enforced", ADA, false)).rejects.toThrow();
    expect(performance.now() - began).toBeLessThan(490);
    server?.closeAllConnections();
    await engine.close();
  });

  test.each([
    ["a word", "yes"],
    ["a number", 1],
    ["null", null],
    ["a list", [true]],
    ["an object", { allow: true }],
  ])("%s instead of true is a no that says so", async (_, allow) => {
    const engine = await answering(json((version) => ({ result: { version, allow } })));
    expect(await engine.decide("enforced", ADA, false)).toMatchObject({
      allow: false,
      reasons: [expect.stringMatching(/not true or false$/) as string],
    });
    await engine.close();
  });

  test("an undefined answer is a no that says so", async () => {
    const engine = await answering(json((version) => ({ result: { version } })));
    expect(await engine.decide("enforced", ADA, false)).toMatchObject({
      allow: false,
      reasons: ["data.ostiary.tools.allow is undefined for this input"],
    });
    await engine.close();
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
