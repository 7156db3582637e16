// Every combination of caller, capsule, relation, policy, class, risk, level and mode against a model that was written
// from the requirements, not from the code: who sees the tool, who runs it, who waits for a person, and why not.
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { LEVELS, MODES, type Caller, type Mode } from "../../src/contract/call.ts";
import {
  defineTool,
  EFFECTS,
  RISKS,
  type Effects,
  type Risk,
  type Tool,
} from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";

/** How often each tool's handler was entered. */
const entered = new Map<string, number>();
const nameOf = (effects: Effects, risk: Risk): string => `system/${risk}_${effects}`;
const tools: Tool[] = EFFECTS.flatMap((effects) =>
  RISKS.map((risk) => {
    const name = nameOf(effects, risk);
    return defineTool({
      name,
      description: "Counts its runs. For tests only.",
      input: z.strictObject({}),
      output: z.strictObject({ ok: z.boolean() }),
      risk,
      effects,
      needs: [],
      timeoutMs: 5_000,
      examples: [{}],
      run() {
        entered.set(name, (entered.get(name) ?? 0) + 1);
        return { ok: true };
      },
    });
  }),
);

const POLICY = `package ostiary.tools

default allow := false

allow if {
	input.action == "view"
	not "no_view" in input.roles
}

allow if {
	input.action == "execute"
	not "no_execute" in input.roles
}

reasons contains "this role may not run anything" if "no_execute" in input.roles
`;

const POLICIES = ["all", "no_view", "no_execute"] as const;

interface Case {
  readonly inCapsule: boolean;
  readonly related: boolean;
  readonly policy: (typeof POLICIES)[number];
  readonly level: (typeof LEVELS)[number];
  readonly effects: Effects;
  readonly risk: Risk;
  readonly mode: Mode;
}

/** Table of governance (class by mode), letter by letter: r runs, a asks, n no. */
const RULES: Record<
  Effects,
  readonly [normal: string, alert: string, degraded: string, lockdown: string, recovery: string]
> = {
  essential_health_check: ["r", "r", "r", "r", "r"],
  read_only: ["r", "r", "r", "a", "r"],
  network: ["r/a", "a", "a", "n", "n"],
  system_write: ["r/a", "a", "a", "n", "a"],
  system_dangerous: ["a", "a", "a", "n", "n"],
};
const NEEDED: Record<Risk, number> = { safe: 1, moderate: 2, dangerous: 3 };

function expected({ inCapsule, related, policy, level, effects, risk, mode }: Case): string {
  if (!inCapsule || !related || policy === "no_view") return "failed NOT_FOUND unknown";
  if (policy === "no_execute") return "failed FORBIDDEN policy_denied";
  if (LEVELS.indexOf(level) < NEEDED[risk]) return "failed FORBIDDEN level_too_low";
  const cell = RULES[effects][MODES.indexOf(mode)] ?? "";
  const [normally, dangerously = normally] = cell.split("/");
  const rule = risk === "dangerous" ? dangerously : normally;
  if (rule === "n") return "failed FORBIDDEN mode_forbids";
  return rule === "a" ? "pending" : "success";
}

let app: StartedApp;
let clock = Date.now();
const callers = new Map<string, Caller>();

beforeAll(async () => {
  // Each call is a minute after the last one: no rate window of a mode is ever full.
  app = await startApp({
    tools,
    now: () => (clock += 1),
    flags: { "approvals.maxPendingPerCaller": "100000" },
  });
  const drafted = await app.api("POST", "/policies", {
    body: { files: { "tools.rego": POLICY }, note: "table" },
  });
  expect(drafted.status).toBe(201);
  const published = await app.api("POST", `/policies/${drafted.body.document.version}/publish`, {
    body: {},
  });
  expect(published.status).toBe(200);
  await app.api("POST", "/capsules", {
    body: { id: "with", name: "with", capabilities: tools.map((tool) => tool.name) },
  });
  await app.api("POST", "/capsules", {
    body: { id: "without", name: "without", capabilities: ["system/echo"] },
  });
  for (const related of [true, false])
    for (const policy of POLICIES) {
      const id = `${related ? "related" : "stranger"}_${policy}`;
      const roles = policy === "all" ? ["tool_user"] : ["tool_user", policy];
      await app.api("POST", "/users", { body: { id, name: id, roles } });
      if (!related) {
        const member = { operation: "delete", relationship: `tenant:local#member@user:${id}` };
        expect(
          (await app.api("POST", "/relationships", { body: { changes: [member] } })).status,
        ).toBe(200);
      }
      for (const capsuleId of ["with", "without"])
        for (const level of LEVELS) {
          const scopes = RISKS.map((risk) => `agent:execute:${risk}`);
          const { body } = await app.api("POST", "/keys", {
            body: { userId: id, name: level, scopes, capsuleId, level },
          });
          callers.set(`${id} ${capsuleId} ${level}`, await app.callerOf(body.secret as string));
        }
    }
});
afterAll(() => app.close());

function* cases(mode: Mode): Generator<Case> {
  for (const inCapsule of [true, false])
    for (const related of [true, false])
      for (const policy of POLICIES)
        for (const level of LEVELS)
          for (const effects of EFFECTS)
            for (const risk of RISKS)
              yield { inCapsule, related, policy, level, effects, risk, mode };
}

test("R030 R064 R071 R077 C29 C35: each of the combinations is decided as the model says, and only what may run runs", async () => {
  let tried = 0;
  const wrong: string[] = [];
  const ends = new Map<string, number>();
  for (const mode of MODES) {
    // From LOCKDOWN the way leads through RECOVERY; the list of modes goes that way.
    const switched = await app.api("PUT", "/mode", { body: { mode, reason: "table" } });
    expect(switched.status).toBe(200);
    for (const one of cases(mode)) {
      const { inCapsule, related, policy, level, effects, risk } = one;
      const caller = callers.get(
        `${related ? "related" : "stranger"}_${policy} ${inCapsule ? "with" : "without"} ${level}`,
      );
      const name = nameOf(effects, risk);
      const before = entered.get(name) ?? 0;
      clock += 61_000;
      const outcome = await app.app.engine.execute(caller!, { name, arguments: {}, entry: "rest" });
      const { status, error } = outcome;
      const got = error ? `${status} ${error.code} ${error.reason}` : status;
      const want = expected(one);
      const ran = (entered.get(name) ?? 0) - before;
      if (got !== want || ran !== (want === "success" ? 1 : 0))
        wrong.push(`${JSON.stringify(one)}: ${got}, ran ${ran}; expected ${want}`);
      ends.set(want, (ends.get(want) ?? 0) + 1);
      tried++;
    }
  }
  expect(wrong.slice(0, 20)).toEqual([]);
  expect(tried).toBeGreaterThanOrEqual(2_000);
  // Every kind of end occurred: a model in which nothing is ever allowed would prove nothing.
  expect([...ends.keys()].sort()).toEqual([
    "failed FORBIDDEN level_too_low",
    "failed FORBIDDEN mode_forbids",
    "failed FORBIDDEN policy_denied",
    "failed NOT_FOUND unknown",
    "pending",
    "success",
  ]);
}, 180_000);
