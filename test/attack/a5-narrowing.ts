// Rights that are borrowed: by a definition, a schedule, a held call, a kept answer or a sign-in.
import type { Attack, Case, Target } from "./attack.ts";
import { capsule, further, member, signIn, type Member } from "./callers.ts";

const FEW = { scopes: ["agent:execute:safe", "agent:execute:moderate"], level: "execute_advanced" };
const clearing = [{ id: "c", tool: "memory/clear", input: { namespace: "user", dryRun: true } }];

const run = (target: Target, { key }: Member, name: string, args: Record<string, unknown>) =>
  target.call(name, args, { key });

/** A narrow key of the same user writes what a wide one runs. */
const planted = (
  name: string,
  narrow: (target: Target, id: string) => Promise<Member>,
  steps: object[],
  tool: string,
  more: Record<string, unknown> = {},
): Case => ({
  name,
  async run(target) {
    const wide = await member(target);
    const other = await narrow(target, wide.id);
    const made = await run(target, other, "workflow/create", { name: "w", steps });
    if (made.body.status !== "success") return null; // it could not even be written
    const ran = await run(target, wide, "workflow/execute", { workflowId: "w", ...more });
    const list = await target.api("GET", `/executions?toolName=${tool}`, { key: wide.key });
    const done = list.body.executions.some((one: { status: string }) =>
      ["success", "pending"].includes(one.status),
    );
    return done
      ? `a step beyond its author's rights went through: ${JSON.stringify(ran.body).slice(0, 200)}`
      : null;
  },
});

const few = (target: Target, id: string) => further(target, id, FEW);
const nested = [
  {
    id: "n",
    tool: "system/call_tool",
    input: { name: "memory/clear", arguments: { namespace: "user", dryRun: true } },
  },
];

const replayed = (name: string, narrow: (target: Target) => Promise<object>): Case => ({
  name,
  async run(target) {
    const wide = await member(target);
    const other = await further(target, wide.id, await narrow(target));
    const body = { name: "system/info", arguments: {}, idempotencyKey: "kept" };
    const first = await target.api("POST", "/executions", { key: wide.key, body });
    const second = await target.api("POST", "/executions", { key: other.key, body });
    return first.status === 200 && second.status === 200 ? "another key's answer was told" : null;
  },
});

const attack: Attack = {
  item: "A5",
  title: "rights borrowed on the way",
  settings: { "rateLimit.enabled": "false" },
  cases: [
    planted("a definition by a key of low level", few, clearing, "memory/clear"),
    planted("the same, named by its version", few, clearing, "memory/clear", { version: 1 }),
    planted(
      "a definition that goes on after errors",
      few,
      [{ ...clearing[0], continueOnError: true }],
      "memory/clear",
    ),
    planted("a definition that calls through another tool", few, nested, "memory/clear"),
    planted(
      "a definition by a key that may only look",
      (t, id) =>
        further(t, id, {
          level: "execute_basic",
          scopes: ["agent:execute:safe", "agent:execute:moderate"],
        }),
      clearing,
      "memory/clear",
    ),
    planted(
      "a definition by a key whose capsule shrank",
      async (t, id) => {
        const held = await capsule(t, ["workflow/create", "memory/clear"]);
        const key = await further(t, id, { capsuleId: held });
        await run(t, key, "workflow/create", { name: "w", steps: clearing });
        await t.api("PATCH", `/capsules/${held}`, { body: { capabilities: ["workflow/create"] } });
        return key;
      },
      clearing,
      "memory/clear",
    ),
    {
      name: "a definition whose author's key was revoked",
      async run(target) {
        const wide = await member(target);
        const other = await further(target, wide.id);
        await run(target, other, "workflow/create", {
          name: "w",
          steps: [{ id: "e", tool: "system/echo", input: { text: "x" } }],
        });
        await target.api("DELETE", `/keys/${other.keyId}`);
        const ran = await run(target, wide, "workflow/execute", { workflowId: "w" });
        return ran.body.status === "success" ? "it ran" : null;
      },
    },
    replayed("a kept answer, asked for by a key without the tool", async (t) => ({
      capsuleId: await capsule(t, ["system/echo"]),
    })),
    replayed("a kept answer, asked for by a key without the scope", async () => ({
      scopes: ["tool:approve"],
    })),
    {
      name: "a sign-in by a key that may only look",
      async run(target) {
        const key = await further(target, "owner", {
          scopes: ["admin"],
          level: "view_only",
          capsuleId: "starter",
        });
        const cookie = await signIn(target, key.key);
        const who = await target.api("GET", "/whoami", { key: null, headers: { cookie } });
        return who.body.level === "view_only" ? null : `it has level ${String(who.body.level)}`;
      },
    },
  ],
  control: {
    name: "whoever defines and runs a workflow with the same rights has them",
    async run(target) {
      const who = await member(target);
      await run(target, who, "workflow/create", {
        name: "w",
        steps: [{ id: "e", tool: "system/echo", input: { text: "x" } }],
      });
      const ran = await run(target, who, "workflow/execute", { workflowId: "w" });
      return ran.body.status === "success" ? null : JSON.stringify(ran.body).slice(0, 300);
    },
  },
};
export default attack;
