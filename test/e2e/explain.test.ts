// Why a call would be, or was, allowed or refused.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

describe("explain", () => {
  let app: StartedApp;
  let ann: string;
  beforeAll(async () => {
    app = await startApp();
    await app.api("POST", "/capsules", { body: { id: "tiny", name: "t", capabilities: ["system/echo"] } }); // prettier-ignore
    ann = await newUser(app, "ann", { capsuleId: "tiny" });
  });
  afterAll(() => app.close());

  const explain = (body: object, key = app.adminKey) => app.api("POST", "/explain", { body, key });

  it("every stage gives its verdict and nothing runs", async () => {
    const { status, body } = await explain({ tool: "system/echo", arguments: { text: "a" } });
    expect(status).toBe(200);
    conforms("explain.explainCall", body);
    expect(body.verdict).toBe("allow");
    expect(body.gates.length).toBeGreaterThanOrEqual(4);
    const denied = await explain({ tool: "system/echo", arguments: { txt: "a" } });
    expect(denied.body.verdict).toBe("deny");
    expect(denied.body.gates.at(-1)).toMatchObject({ stage: "input", verdict: "deny", reason: "invalid_arguments" }); // prettier-ignore
    expect(denied.body.wouldChange).toHaveLength(1);
    expect((await app.api("GET", "/executions")).body.totalCount).toBe(0);
    const trpc = await trpcClient(app).explain.explainCall.query({ tool: "system/echo", arguments: {} }); // prettier-ignore
    expect(trpc.verdict).toBe("deny");
  });

  it("C23: an invisible tool does not exist, except for administrators who ask as that user", async () => {
    const hidden = await explain({ tool: "system/time" }, ann);
    expect(hidden.status).toBe(404);
    expect(hidden.body.detail).toBe("Tool 'system/time' not found");
    const failure = await trpcFailure(trpcClient(app, ann).explain.explainCall.query({ tool: "system/time" })); // prettier-ignore
    expect(failure.code).toBe("NOT_FOUND");
    await app.api("PATCH", "/capsules/starter", { body: { capabilities: ["system/echo"] } });
    const told = await explain({ tool: "system/time", as: "ann" });
    expect(told.status).toBe(200);
    conforms("explain.explainCall", told.body);
    expect(told.body.verdict).toBe("deny");
    expect(told.body.summary).toContain("ann");
  });

  it("`as` is for administrators, and names a user that exists", async () => {
    const refused = await explain({ tool: "system/echo", as: "owner" }, ann);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({ code: "FORBIDDEN", reason: "admin_only" });
    expect((await explain({ tool: "system/echo", as: "nobody" })).status).toBe(404);
  });

  it("a past execution is explained from its record", async () => {
    const run = (args: object, key = ann) => app.api("POST", "/executions", { key, body: { name: "system/echo", arguments: args } }); // prettier-ignore
    const good = await run({ text: "a" });
    const past = await explain({ executionId: good.body.executionId }, ann);
    conforms("explain.explainCall", past.body);
    expect(past.body).toMatchObject({ verdict: "allow", tool: "system/echo", executionId: good.body.executionId }); // prettier-ignore
    const bad = await run({});
    const denied = await explain({ executionId: bad.body.execution_id }, ann);
    expect(denied.body).toMatchObject({ verdict: "deny", summary: expect.stringContaining("input") as string }); // prettier-ignore
    const hidden = await app.api("POST", "/executions", {
      key: ann,
      body: { name: "system/time" },
    });
    const nothing = await explain({ executionId: hidden.body.execution_id }, ann);
    expect(nothing.status).toBe(404);
    const none = await app.api("POST", "/executions", { body: { name: "no/such" } });
    const told = await explain({ executionId: none.body.execution_id });
    conforms("explain.explainCall", told.body);
    expect(told.body).toMatchObject({ verdict: "deny", tool: "no/such" });
  });

  it("needs a tool or an execution, not both", async () => {
    for (const body of [{}, { tool: "a/b", executionId: "exec_1_a" }, { executionId: "exec_1_a", as: "ann" }]) {
      const answer = await explain(body);
      expect(answer.status).toBe(400);
      expect(answer.body.reason).toBe("invalid_input");
    }
  }); // prettier-ignore
});
