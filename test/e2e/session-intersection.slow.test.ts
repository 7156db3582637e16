// For any user, capsule, persona, role, relationships and policy: a session sees and runs what all of them allow, and
// nothing else. The expectation is computed here from the same facts, without any code of the gate.
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser } from "../fixtures/contract.ts";
import { scriptedModel } from "../fixtures/scripted-model.ts";

const TOOLS = [
  "system/echo",
  "system/time",
  "system/calculator",
  "memory/list",
  "memory/documentation",
];
const ARGUMENTS: Record<string, object> = {
  "system/echo": { text: "x" },
  "system/time": {},
  "system/calculator": { expression: "1+1" },
  "memory/list": {},
  "memory/documentation": { query: "approval" },
};
const ROLES = ["tool_user", "reader", "writer"];
/** What the policy allows to each role. */
const GRANTS: Record<string, readonly string[]> = {
  tool_user: ["system/echo", "system/time", "memory/list"],
  reader: ["memory/list", "memory/documentation"],
  writer: ["system/calculator", "system/echo"],
};
const POLICY = `package ostiary.tools

default allow := false

grants := ${JSON.stringify(GRANTS)}

# METADATA
# entrypoint: true
allow if {
	input.action in {"view", "execute"}
	some role in input.roles
	input.tool_name in grants[role]
}
`;
const RUNS = 5_000;

const wire = (name: string): string => name.replace("/", "_");

/** People whose sessions are tried side by side, each with facts of their own. */
const PEOPLE = ["ada", "ben", "cleo", "dan"];

/** What the model was shown, by the message that it answers. */
const offered = new Map<string, readonly string[]>();
const script = scriptedModel((request, turn) => {
  if (turn > 0) return { text: "done" };
  const message = request.messages.findLast(({ role }) => role === "user")?.content ?? "";
  offered.set(
    message,
    (request.tools ?? []).map(({ name }) => name),
  );
  // It asks for all of them, whatever it was shown.
  return {
    calls: TOOLS.map((name) => ({ name: wire(name), arguments: ARGUMENTS[name] as never })),
  };
});

let house: StartedApp;
const keys = new Map<string, string>();
beforeAll(async () => {
  house = await startApp({ model: script.model, flags: { "rateLimit.enabled": "false" } });
  for (const who of PEOPLE) {
    await capsule(`key-${who}`, TOOLS, "POST");
    await capsule(`session-${who}`, TOOLS, "POST");
    const persona = { id: `face-${who}`, name: who, prompt: "", capabilities: TOOLS };
    expect((await house.api("POST", "/personas", { body: persona })).status).toBe(201);
    const options = { level: "admin", capsuleId: `key-${who}`, scopes: ["*"] };
    keys.set(who, await newUser(house, who, options));
  }
  const everybody = TOOLS.map((name) => ({
    operation: "delete" as const,
    relationship: {
      resource: { type: "tool", id: name },
      relation: "executor",
      subject: { type: "tenant", id: "local", relation: "member" },
    },
  }));
  await house.doors.relations.write(everybody);
  const { body } = await house.api("POST", "/policies", {
    body: { files: { "tools.rego": POLICY }, note: "by role" },
  });
  const { version } = body.document;
  expect((await house.api("POST", `/policies/${version}/publish`, { body: {} })).status).toBe(200);
}, 120_000);
afterAll(() => house.close());

async function capsule(
  id: string,
  capabilities: readonly string[],
  method: "POST" | "PATCH",
): Promise<void> {
  const path = method === "POST" ? "/capsules" : `/capsules/${id}`;
  const body = method === "POST" ? { id, name: id, capabilities } : { capabilities };
  expect((await house.api(method, path, { body })).status).toBeLessThan(300);
}

const subset = fc.subarray(TOOLS);
/** Most facts allow most tools: what all of them allow is then seldom empty. */
const generous = fc.oneof(
  { weight: 3, arbitrary: fc.constant(TOOLS) },
  { weight: 2, arbitrary: subset },
);

const facts = fc.record({
  keyCapsule: generous,
  sessionCapsule: generous,
  persona: fc.option(generous, { nil: null }),
  related: generous,
  userRoles: fc.subarray(ROLES, { minLength: 1 }),
  asRole: fc.option(fc.constantFrom(...ROLES), { nil: null }),
});

interface Facts {
  readonly keyCapsule: readonly string[];
  readonly sessionCapsule: readonly string[];
  readonly persona: readonly string[] | null;
  readonly related: readonly string[];
  readonly userRoles: readonly string[];
  readonly asRole: string | null;
}

/** Null: the session itself is refused. */
function expected(f: Facts): readonly string[] | null {
  if (f.asRole !== null && !f.userRoles.includes(f.asRole)) return null;
  const roles = f.asRole === null ? f.userRoles : [f.asRole];
  return TOOLS.filter(
    (tool) =>
      f.keyCapsule.includes(tool) &&
      f.sessionCapsule.includes(tool) &&
      (f.persona === null || f.persona.includes(tool)) &&
      f.related.includes(tool) &&
      roles.some((role) => GRANTS[role]?.includes(tool)),
  );
}

async function arrange(who: string, f: Facts): Promise<void> {
  await capsule(`key-${who}`, f.keyCapsule, "PATCH");
  await capsule(`session-${who}`, f.sessionCapsule, "PATCH");
  if (f.persona)
    await house.api("PATCH", `/personas/face-${who}`, { body: { capabilities: f.persona } });
  await house.api("PATCH", `/users/${who}`, { body: { roles: f.userRoles } });
  await house.doors.relations.write(
    TOOLS.map((name) => ({
      operation: f.related.includes(name) ? ("touch" as const) : ("delete" as const),
      relationship: {
        resource: { type: "tool", id: name },
        relation: "executor",
        subject: { type: "user", id: who },
      },
    })),
  );
}

const seen = { runs: 0, tools: 0, refused: 0 };

async function judge(who: string, f: Facts): Promise<void> {
  await arrange(who, f);
  const allowed = expected(f);
  const key = keys.get(who) ?? "";
  const created = await house.api("POST", "/sessions", {
    key,
    body: {
      capsuleId: `session-${who}`,
      ...(f.persona ? { personaId: `face-${who}` } : {}),
      ...(f.asRole === null ? {} : { role: f.asRole }),
    },
  });
  const message = `Use everything, ${who} ${++seen.runs}.`;
  if (allowed === null) {
    seen.refused++;
    expect(created.status).toBe(403);
    return;
  }
  expect(created.status).toBe(201);
  const { body } = await house.api("POST", "/chat", {
    key,
    body: { message, sessionId: created.body.id },
  });
  expect(body.status).toBe("success");
  expect(offered.get(message)?.toSorted()).toEqual(allowed.map(wire).toSorted());
  const ran = body.toolCalls.filter((one: { status: string }) => one.status === "success");
  expect(ran.map((one: { tool: string }) => one.tool).toSorted()).toEqual(allowed.toSorted());
  const others = body.toolCalls.filter((one: { status: string }) => one.status !== "success");
  expect(others.every((one: { reason: string }) => one.reason === "unknown")).toBe(true);
  seen.tools += allowed.length;
}

test(
  "R047: a session sees and runs exactly what user, capsule, persona, relations and policy all allow",
  async () => {
    const runs = Number(process.env["OSTIARY_PROPERTY_RUNS"] ?? RUNS);
    await fc.assert(
      fc.asyncProperty(fc.tuple(facts, facts, facts, facts), async (all) => {
        await Promise.all(all.map((f, at) => judge(PEOPLE[at] ?? "", f)));
      }),
      { numRuns: Math.ceil(runs / PEOPLE.length), endOnFailure: true },
    );
    // The positive twin: what all allow did run, and often.
    expect(seen.tools).toBeGreaterThan(seen.runs / 2);
    expect(seen.refused).toBeGreaterThan(0);
  },
  30 * 60_000,
);
